class Failure(Exception):
    """An error with its class in docs/adapter-protocol.md."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
