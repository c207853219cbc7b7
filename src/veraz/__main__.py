"""`python -m veraz`: the command line where its script is not on the path."""

from veraz.cli.main import main

if __name__ == "__main__":
    main()
