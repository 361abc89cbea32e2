"""Run the command line in this process."""

from click.testing import CliRunner

from bowfree.cli import main


def run(*words, code=0, text=None):
    """Run a command with an exit code, or with any if `code` is None; return its output."""
    done = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert code is None or done.exit_code == code, done.output
    return done
