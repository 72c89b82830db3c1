"""Settings: which layer wins, where a value came from, and what a wrong one is answered with."""

from pathlib import Path

import pytest

from noetl.errors import RequestError
from noetl.settings import (
    SETTINGS,
    Settings,
    colour_allowed,
    contexts,
    find_project,
    load,
    unknown_variables,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "deep" / "down").mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def settings_in(folder: Path, home: Path, flags=None, **environ: str) -> Settings:
    return load(flags, environ={"NOETL_HOME": str(home), **environ}, folder=folder)


def test_without_anything_given_the_defaults_of_the_documentation_hold(project: Path, home: Path) -> None:
    settings = settings_in(project, home)
    assert (settings.host, settings.port, settings.pool) == ("127.0.0.1", 8080, "default")
    assert (settings.concurrency, settings.lease_s) == (32, 30.0)
    assert (settings.server, settings.bus, settings.results, settings.token) == (None, None, None, None)
    assert settings.store == f"sqlite:///{project}/.noetl/noetl.db"
    assert settings.origins["port"] == "default"


def test_a_token_that_is_given_as_an_argument_is_sent_to_the_server_that_is(
    home: Path, project: Path
) -> None:
    (home / "contexts.toml").write_text("[contexts.test]\nserver = 'http://s'\ntoken = 'kept'\n")
    given, named = (
        {"server": "http://s", "token": "given"},
        {"server": "argument url", "token": "argument token"},
    )
    settings = load(given, named=named, environ={"NOETL_HOME": str(home)}, folder=project)
    assert (settings.token, settings.origins["token"]) == ("given", "argument token")


def test_flag_beats_environment_beats_project_file_beats_user_file_beats_default(
    project: Path, home: Path
) -> None:
    (home / "noetl.toml").write_text("port = 1\npool = 'user'\nhost = 'user'\nbus = 'user'\n")
    (project / "noetl.toml").write_text("port = 2\npool = 'project'\nhost = 'project'\n")
    settings = settings_in(project, home, {"port": 4}, NOETL_PORT="3", NOETL_POOL="environment")
    assert (settings.port, settings.origins["port"]) == (4, "flag --port")
    assert (settings.pool, settings.origins["pool"]) == ("environment", "environment NOETL_POOL")
    assert (settings.host, settings.origins["host"]) == ("project", str(project / "noetl.toml"))
    assert (settings.bus, settings.origins["bus"]) == ("user", str(home / "noetl.toml"))
    assert (settings.concurrency, settings.origins["concurrency"]) == (32, "default")


def test_the_project_is_the_nearest_folder_upward_with_a_noetl_toml(project: Path) -> None:
    (project / "noetl.toml").write_text("")
    assert find_project(project / "deep" / "down") == project


def test_without_a_noetl_toml_the_project_is_the_folder_itself(project: Path) -> None:
    assert find_project(project / "deep") == project / "deep"


def test_a_flag_that_was_not_given_and_an_empty_variable_count_as_absent(project: Path, home: Path) -> None:
    settings = settings_in(project, home, {"port": None}, NOETL_POOL="")
    assert (settings.port, settings.pool) == (8080, "default")


def test_numbers_from_the_environment_are_numbers(project: Path, home: Path) -> None:
    settings = settings_in(project, home, NOETL_PORT="9000", NOETL_LEASE_S="2.5")
    assert (settings.port, settings.lease_s) == (9000, 2.5)


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("NOETL_PORT", "eighty", ["port", "whole number", "'eighty'", "environment NOETL_PORT"]),
        ("NOETL_PORT", "70000", ["port number", "'70000'"]),
        ("NOETL_CONCURRENCY", "0", ["concurrency", "at least 1"]),
        ("NOETL_LEASE_S", "-1", ["lease_s", "above 0"]),
        ("NOETL_RETENTION", "soon", ["retention", "soon", "30d"]),
        ("NOETL_RETENTION", "0d", ["retention", "above 0s"]),
        ("NOETL_LEASE_S", "nan", ["lease_s", "above 0"]),
        ("NOETL_POOL", "  ", ["pool", "a text"]),
        ("NOETL_STORE", "postgresql://[x", ["store", "an address"]),
        ("NOETL_OTLP", "http://[x", ["otlp", "an address"]),
        ("NOETL_BUS", "nats://h,nats://[x", ["bus", "an address"]),
        ("NOETL_STORE", "postgresql://u:p@h,u:p@i/d", ["store", "one login", "postgresql://u@i/d"]),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_value_and_origin(
    variable, value, words, project, home
) -> None:
    with pytest.raises(RequestError) as caught:
        settings_in(project, home, **{variable: value})
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize(
    "line", ["port = true", "port = 80.5", "concurrency = '1.5'", "lease_s = true", "pool = 3"]
)
def test_a_wrong_type_in_a_file_is_refused_with_the_file(line: str, project: Path, home: Path) -> None:
    (project / "noetl.toml").write_text(line)
    with pytest.raises(RequestError, match=r"noetl\.toml"):
        settings_in(project, home)


def test_an_unknown_setting_in_a_file_is_refused_with_the_nearest_name(project: Path, home: Path) -> None:
    (project / "noetl.toml").write_text("concurency = 3")
    with pytest.raises(RequestError, match="unknown setting 'concurency'") as caught:
        settings_in(project, home)
    assert caught.value.hint == "did you mean 'concurrency'?"


def test_an_unknown_setting_without_a_near_name_lists_all(project: Path, home: Path) -> None:
    (project / "noetl.toml").write_text("zzz = 3")
    with pytest.raises(RequestError) as caught:
        settings_in(project, home)
    assert caught.value.hint is not None
    assert "lease_s" in caught.value.hint


def test_a_file_that_is_not_toml_is_refused_with_its_name(project: Path, home: Path) -> None:
    (project / "noetl.toml").write_text("port: 80")
    with pytest.raises(RequestError, match=r"cannot read the settings in '.*noetl\.toml'"):
        settings_in(project, home)


@pytest.mark.parametrize("written", ["s3cr3t-key", "s3cr3t", "s3cr3t,", "schl\u00fcssel"])
def test_a_key_that_is_not_32_bytes_in_base64_is_a_wrong_setting(
    project: Path, home: Path, written: str
) -> None:
    with pytest.raises(RequestError, match="'key' must be 32 bytes in base64") as caught:
        settings_in(project, home, NOETL_KEY=written)
    assert written not in caught.value.message


@pytest.mark.parametrize(
    ("written", "meant"),
    [("NOETL_STOER", "NOETL_STORE"), ("NOETL_LEASES", "NOETL_LEASE_S"), ("NOETL_XYZZY", None)],
)
def test_a_variable_that_is_no_setting_is_found_with_what_may_be_meant(
    written: str, meant: str | None
) -> None:
    environ = {written: "x", "NOETL_PORT": "1", "PATH": "/bin", "_NOETL_COMPLETE": "y"}
    assert unknown_variables(environ) == {written: meant}


def test_secrets_are_neither_in_the_text_of_the_settings_nor_in_an_error(project: Path, home: Path) -> None:
    settings = settings_in(project, home, NOETL_TOKEN="s3cr3t-token", NOETL_KEY="s3cr3t" * 7 + "s=")
    assert settings.token == "s3cr3t-token"
    assert "s3cr3t" not in repr(settings)
    (project / "noetl.toml").write_text("token = 12345678")
    with pytest.raises(RequestError) as caught:
        settings_in(project, home)
    assert "12345678" not in caught.value.message


def test_the_home_folder_defaults_to_the_users_data_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(project / "data"))
    monkeypatch.setenv("HOME", str(project))
    settings = load(environ={}, folder=project)
    assert settings.home.name == "noetl"
    assert settings.home.is_relative_to(project)


def test_the_current_folder_and_environment_are_used_when_none_is_given(project, home, monkeypatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("NOETL_HOME", str(home))
    monkeypatch.setenv("NOETL_PORT", "81")
    assert (load().port, load().project) == (81, project)


@pytest.mark.parametrize(
    "environ, allowed",
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_allowed_unless_no_color_or_a_dumb_terminal_says_otherwise(environ, allowed) -> None:
    assert colour_allowed(environ) is allowed


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_documented(setting, root: Path) -> None:
    page = (root / "docs" / "reference" / "settings.md").read_text()
    assert f"`{setting.variable}`" in page
    assert setting.doc.endswith((".", "…"))


CONTEXTS = """
current = "prod"
[contexts.prod]
server = "https://noetl.example.com"
token = "of-prod"
[contexts.test]
server = "http://127.0.0.1:8080"
"""


def test_the_context_in_use_names_the_server_and_its_token(project: Path, home: Path) -> None:
    (home / "contexts.toml").write_text(CONTEXTS)
    settings = settings_in(project, home)
    assert (settings.server, settings.origins["server"]) == ("https://noetl.example.com", "context prod")
    assert (settings.token, settings.origins["token"]) == ("of-prod", "context prod")
    assert [context.name for context in contexts(home)] == ["prod", "test"]


def test_a_server_may_be_named_by_its_context(project: Path, home: Path) -> None:
    (home / "contexts.toml").write_text(CONTEXTS)
    settings = settings_in(project, home, {"server": "test"})
    assert settings.server == "http://127.0.0.1:8080"
    assert settings.origins["server"] == "flag --server, context test"
    assert settings.token is None


def test_contexts_that_cannot_be_read_are_refused_by_file(project: Path, home: Path) -> None:
    (home / "contexts.toml").write_text("contexts = 3")
    with pytest.raises(RequestError, match=r"contexts\.toml"):
        settings_in(project, home)


OTHER = "https://other.example.com"
PROD = "https://noetl.example.com/"


@pytest.mark.parametrize(
    ("project_file", "user_file", "environ", "flags", "token", "withheld"),
    [
        pytest.param(
            f"server = '{OTHER}'",
            "",
            {"NOETL_TOKEN": "t"},
            {},
            None,
            "environment NOETL_TOKEN",
            id="environment",
        ),
        pytest.param(f"server = '{OTHER}'", "token = 't'", {}, {}, None, "noetl.toml", id="user-file"),
        pytest.param(f"server = '{OTHER}'\ntoken = 'p'", "", {}, {}, "p", None, id="its-own-token"),
        pytest.param(f"server = '{PROD}'", "", {}, {}, "of-prod", None, id="a-server-of-the-users"),
        pytest.param(f"server = '{PROD}'", "", {"NOETL_TOKEN": "t"}, {}, "of-prod", None, id="context-wins"),
        pytest.param(
            f"server = '{OTHER}'",
            "",
            {"NOETL_TOKEN": "t"},
            {"server": OTHER},
            "t",
            None,
            id="typed-by-the-user",
        ),
        pytest.param(
            "", "", {"NOETL_TOKEN": "t", "NOETL_SERVER": OTHER}, {}, "t", None, id="both-environment"
        ),
        pytest.param("", "token = 'u'", {"NOETL_SERVER": OTHER}, {}, "u", None, id="both-the-users"),
        pytest.param("", "", {"NOETL_TOKEN": "t"}, {}, "t", None, id="environment-over-context"),
    ],
)
def test_a_server_that_the_project_names_never_gets_the_users_token(
    project: Path,
    home: Path,
    project_file: str,
    user_file: str,
    environ: dict[str, str],
    flags: dict[str, str],
    token: str | None,
    withheld: str | None,
) -> None:
    (home / "contexts.toml").write_text(CONTEXTS)
    (home / "noetl.toml").write_text(user_file)
    (project / "noetl.toml").write_text(project_file)
    settings = settings_in(project, home, flags, **environ)
    assert settings.token == token
    assert (settings.withheld or "").endswith(withheld or "")
    assert (settings.withheld is None) == (withheld is None)


@pytest.mark.parametrize("flags", [{}, {"server": "mine"}], ids=["in-use", "by-name"])
def test_contexts_of_a_home_that_the_project_chose_get_no_token(
    project: Path, tmp_path: Path, flags: dict[str, str]
) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "contexts.toml").write_text(f"current = 'mine'\n[contexts.mine]\nserver = '{OTHER}'\n")
    (project / "noetl.toml").write_text(f"home = '{strange}'\n")
    settings = load(flags, environ={"NOETL_TOKEN": "t"}, folder=project)
    assert (settings.server, settings.token) == (OTHER, None)
