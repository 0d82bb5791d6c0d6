"""Where the command `openbrain` begins: hooks are answered before anything else is imported."""

import sys


def main() -> None:
    """A hook of a client, or any other command."""
    if sys.argv[1:2] == ["hook"]:
        from openbrain_cli.agents.hooks.command import run

        sys.exit(run(sys.argv[2:]))
    from openbrain_cli.main import main as command

    command()


if __name__ == "__main__":
    main()
