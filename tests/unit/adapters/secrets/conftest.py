"""A keychain, a server for it to ask, and a key to sign with."""

import subprocess
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.adapters.secrets.ask import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def base(httpserver: HTTPServer) -> str:
    return httpserver.url_for("").rstrip("/")


@pytest.fixture(scope="session")
def private_key() -> str:
    made = subprocess.run(["openssl", "genrsa", "2048"], check=True, capture_output=True, text=True)
    return made.stdout
