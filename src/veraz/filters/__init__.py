"""The filter language: parsed, typed, and composed of fragments into the statements of the arms."""
