"""Reading damaged and random files of every kind: ``python -m tests.fuzz``, which is ``make fuzz``.

A reader returns or raises an InputError of one line; everything else is a defect.
"""
