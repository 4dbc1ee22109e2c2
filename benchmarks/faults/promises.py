"""What is promised: the cases of each promise, what must hold in every case, and how many are to be run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """A promise.

    Attributes:
        cases: what is done to the commands.
        holds: what must be true afterwards.
        target: how many cases are to be run; of the soak test, minutes.
        unit: what is counted.
    """

    cases: str
    holds: str
    target: int
    unit: str = ""


PROMISES = {
    "kills": Promise(
        "SIGKILL at a random moment of every command",
        "no file is torn; the same command, started again, succeeds and leaves no temporary file",
        500,
    ),
    "corruptions": Promise(
        "bits, digits, blocks or the end changed in every kind of file that is written and read again",
        "an error of one line, a warning, or the same result as without the damage",
        2_000,
    ),
    "inputs": Promise(
        "malformed files and options, over every command",
        "one line, exit code 2, and nothing is written",
        200,
    ),
    "attacks": Promise(
        "checkpoints changed together with their checksums, pipes, devices and links in place of files, servers that "
        "send without end, files that name code",
        "one line or success within a minute; no code runs, and nothing is written through a link",
        200,
    ),
    "races": Promise(
        "four processes at the same time on the same files",
        "every result is there and whole, or its command ended with one line",
        50,
        " rounds",
    ),
    "signals": Promise(
        "Ctrl-C or SIGTERM at a random moment of every command",
        "one line, exit code 130 or 143, within 3 s on a quiet machine, and no temporary file left",
        200,
    ),
    "shortages": Promise(
        "too little disk, memory or file descriptors, or no permission",
        "the command succeeds, or ends with one line that names the file or the limit; no file is torn",
        60,
    ),
    "soak": Promise(
        "`mggcn compare` over all methods, again and again in one process",
        "no temporary file, child process, descriptor or thread left; flat resident memory",
        30,
        " minutes",
    ),
}
