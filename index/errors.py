"""The one error that the user of an index can mend."""


class SourceError(Exception):
    """A source or an index cannot be used as it is.

    The message is one line that names the file, the field and what to do. It never carries corpus text.
    """
