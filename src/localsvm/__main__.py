"""`python -m localsvm` is the command `localsvm`."""

from localsvm.cli import main

if __name__ == "__main__":
    main()
