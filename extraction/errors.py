"""The one error that the user of this package can mend."""


class InputError(Exception):
    """A model, a config, a tokenizer or a file of generations cannot be used as it is.

    The message is one line that names the file, the field and what to do. It never carries generated text.
    """
