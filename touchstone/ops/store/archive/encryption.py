"""Encryption of objects with AES-256-GCM. The path of an object is authenticated, so that objects cannot be exchanged for each other."""

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

_MAGIC = b"TSAE1\n"
_KEY_BYTES = 32
_KEY_ID_BYTES = 8
_NONCE_BYTES = 12
#: Bytes that an encrypted object has more than its content: what is before the ciphertext, and its tag.
OVERHEAD_BYTES = len(_MAGIC) + _KEY_ID_BYTES + _NONCE_BYTES + 16


class Undecipherable(Exception):
    """An object that no key here decrypts, or that was changed. The message never quotes it."""


class Cipher:
    """Encrypts with the first key, and decrypts with any of them, so that a key can be replaced."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise ConfigError(f"archive.key_file: encryption is not installed; {install_extras('encryption')}") from None
        self._keys = {_key_id(key): AESGCM(key) for key in keys}
        self._first = _key_id(keys[0])

    @classmethod
    def from_file(cls, path: Path) -> "Cipher":
        """Keys from a file: one a line, 32 bytes each as base64 or hex. Raises `ConfigError`."""
        try:
            lines = [line.strip() for line in path.read_text(encoding="ascii").splitlines()]
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ConfigError(f"archive.key_file: cannot be read ({reason})") from None
        keys = [_key(line, number) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
        if not keys:
            raise ConfigError("archive.key_file: holds no key; make one with: openssl rand -base64 32")
        return cls(keys)

    @staticmethod
    def is_encrypted(stored: bytes) -> bool:
        """True if an object begins as encrypted ones do."""
        return stored.startswith(_MAGIC)

    def encrypt(self, data: bytes, path: str) -> bytes:
        """The object's bytes: mark, key id, nonce, ciphertext with its tag."""
        nonce = os.urandom(_NONCE_BYTES)
        return b"".join([_MAGIC, self._first, nonce, self._keys[self._first].encrypt(nonce, data, path.encode())])

    def decrypt(self, stored: bytes, path: str) -> bytes:
        """The content. An object that was written before encryption was switched on is returned as it is."""
        if not self.is_encrypted(stored):
            return stored
        from cryptography.exceptions import InvalidTag

        key_id, rest = stored[len(_MAGIC) :][:_KEY_ID_BYTES], stored[len(_MAGIC) + _KEY_ID_BYTES :]
        key = self._keys.get(key_id)
        if key is None:
            raise Undecipherable("its key is not in the key file")
        try:
            return key.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], path.encode())
        except (InvalidTag, ValueError):  # the second: it was cut off within its nonce
            raise Undecipherable("it was changed, or moved from another place") from None


def _key_id(key: bytes) -> bytes:
    """Which key an object needs, without telling anything of the key."""
    return hashlib.sha256(b"touchstone archive key\0" + key).digest()[:_KEY_ID_BYTES]


def _key(line: str, number: int) -> bytes:
    for decode in (bytes.fromhex, lambda text: base64.b64decode(text, validate=True)):
        try:
            key = decode(line)
        except (ValueError, binascii.Error):
            continue
        if len(key) == _KEY_BYTES:
            return key
    raise ConfigError(f"archive.key_file: line {number} is not a key of 32 bytes in base64 or hex; make one with: openssl rand -base64 32")
