"""TLS as a credential asks for it: whom to trust, and what to show. Certificates are always checked."""

import os
import ssl
import tempfile

from noetl.ports.call import Secret
from noetl.ports.envelope import Failed


def tls_of(secret: Secret) -> ssl.SSLContext:
    """Checks against the authority `ca`, or the usual ones; shows `certificate` with its `private_key`."""
    authority, own = secret.get("ca"), secret.get("certificate")
    try:
        context = ssl.create_default_context(cadata=None if authority is None else str(authority))
        if own is not None:
            _present(context, f"{own}\n{secret.get('private_key') or ''}\n")
    except (ssl.SSLError, ValueError) as problem:
        raise Failed("auth", f"the credential's 'ca' or 'certificate' cannot be read: {problem}") from None
    return context


def _present(context: ssl.SSLContext, certificate: str) -> None:
    """Python takes a certificate from a file alone; it is there for that moment, for this user alone."""
    number, path = tempfile.mkstemp()
    try:
        with os.fdopen(number, "w") as file:
            file.write(certificate)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
