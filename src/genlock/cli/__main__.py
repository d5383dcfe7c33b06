"""`python -m genlock.cli`, for where the program itself is not on the path."""

from genlock.cli._app import main

if __name__ == "__main__":
    main()
