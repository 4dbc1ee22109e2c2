"""The command line. Commands import what they need when they run, so that ``--help`` is fast."""

import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter

from mggcn._io import memory, temporary
from mggcn.cli import data, doctor, ethereum, experiment, explore, methods, options, predict, process, train, tune
from mggcn.cli.display import Level, show_control_characters, show_logs, visible
from mggcn.errors import DataWarning, InputError, InputWarning, RankError

_NOTICE = 2.0  # seconds in which torchrun finds the rank that ended first, and names it

app = App(
    name="mggcn",
    help="Train node classifiers on graphs too large for full-batch GCNs.",
    suppress_keyboard_interrupt=False,
    exit_on_error=False,
    print_error=False,
    version=doctor.version,
    version_format="plaintext",
)
app.command(train.train)
app.command(methods.methods)
app.command(predict.predict)
app.command(experiment.compare)
app.command(experiment.ablate)
app.command(tune.tune)
app.command(experiment.report)
app.command(explore.explore)
app.command(experiment.app)
app.command(data.app)
app.command(ethereum.app)
app.command(doctor.doctor)
app.register_install_completion_command(help="Install completion for bash, zsh or fish, and name the file written.")
app.meta.suppress_keyboard_interrupt = False


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    log_level: Annotated[Level, Parameter(group=Group("All commands"))] = "warning",
) -> int:
    """Run one command.

    Args:
        tokens: The command and its options.
        log_level: What to log on standard error: info has files and times, debug also has details.

    Returns:
        The exit code.
    """
    options.use_flags(app, tokens)
    with show_logs(log_level), process.joined(tokens):
        return int(app(tokens, result_action="return_int_as_exit_code_else_zero"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; for bad input print one line on standard error and return 2."""
    process.begin()
    if arguments is not None:
        return _main(list(arguments))
    show_control_characters()
    try:
        process.handle_signals()
        code = _main(sys.argv[1:])
        process.ignore_signals()
    except (KeyboardInterrupt, SystemExit):
        if not process.received_signal():
            raise
        code = 1
    number = process.received_signal()
    if number is None:
        return code
    temporary.remove_own()  # those that the signal came too early for to be removed by their writer
    return process.exit_code(number)


def _main(tokens: list[str]) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", InputWarning)  # once each, though several runs may give it
            warnings.simplefilter("ignore", DataWarning)
            warnings.showwarning = _show_warning
            return int(app.meta(tokens, result_action="return_int_as_exit_code_else_zero"))
    except (InputError, CycloptsError) as error:
        return _fail(options.with_flags(" ".join(str(error).split())))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has closed the pipe
        return 1
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror or error}" if error.filename else str(error))
    except RankError as error:
        _fail(str(error))
        time.sleep(_NOTICE)
        return 1
    except Exception as error:
        if process.received_signal():
            return 1  # what a library makes of the signal, such as DuckDB's "Query interrupted"
        if not (missing := memory.shortage(error)):
            raise
        return _fail(f"not enough memory: {missing}")
    except KeyboardInterrupt:
        return process.exit_code(signal.SIGINT)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    """Print an InputWarning as one line, and any other warning as Python does."""
    if not issubclass(category, InputWarning):
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
    elif process.may_print():
        text = options.with_flags(" ".join(str(message).split()))
        sys.stderr.write(f"mggcn: warning: {visible(text)}\n")


def _fail(message: str) -> int:
    if process.received_signal():
        return 1  # the signal is what is printed
    sys.stderr.write(f"mggcn: error: {visible(message)}\n")
    return 2
