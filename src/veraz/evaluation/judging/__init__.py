"""How do people judge passages without knowing who found them, and do they agree?"""
