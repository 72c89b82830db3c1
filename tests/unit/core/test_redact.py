"""Secret values are taken out by value, wherever they turn up."""

import pytest

from noetl.core.redact import Redactor


def knowing(**material):
    redactor = Redactor()
    redactor.learn(material)
    return redactor


@pytest.mark.parametrize("field", ["value", "password", "token", "key", "secret"])
def test_secret_fields_are_masked_in_text_maps_and_lists(field):
    redactor = knowing(**{field: "hunter22", "host": "db.example"})
    seen = {"text": "x hunter22 y", "hunter22": ["hunter22", ("hunter22",), 5, None], "host": "db.example"}
    assert redactor.clean(seen) == {"text": "x *** y", "***": ["***", ["***"], 5, None], "host": "db.example"}


@pytest.mark.parametrize(
    "field",
    [
        "client_secret",
        "secret_access_key",
        "refresh_token",
        "access_token",
        "private_key",
        "API_KEY",
        "db_pass",
        "pwd",
    ],
)
def test_a_field_whose_name_says_that_it_is_secret_is_masked(field):
    assert knowing(**{field: "hunter22"}).clean("hunter22") == "***"


@pytest.mark.parametrize(
    "field", ["token_url", "token_uri", "key_name", "access_key_id", "secret_name", "monkey"]
)
def test_what_is_only_about_a_secret_is_left_alone(field):
    assert knowing(**{field: "hunter22"}).secrets == ()


def test_the_password_of_an_address_is_masked_as_written_and_as_meant():
    redactor = knowing(dsn="postgresql://app:hunter%4022@db.example/x", url="https://example.com/a:b")
    assert redactor.clean("hunter%4022 hunter@22 db.example app") == "*** *** db.example app"
    assert len(redactor.secrets) == 2


def test_fields_inside_structured_material_count_too():
    assert knowing(auth={"password": "hunter22"}).clean("hunter22") == "***"


def test_short_values_and_other_fields_are_left_alone():
    redactor = knowing(password="short", user="somebody", token=None, key=True)
    assert redactor.secrets == ()
    assert redactor.clean("short somebody") == "short somebody"


def test_numbers_are_secrets_in_text():
    assert knowing(secret=12345678).clean("pin 12345678") == "pin ***"


def test_the_longest_secret_is_taken_out_first():
    redactor = knowing(value="secret-1")
    redactor.learn({"value": "secret-1-and-more"})
    redactor.learn({"value": "secret-1"})
    assert redactor.clean("secret-1-and-more secret-1") == "*** ***"


def test_a_value_is_returned_as_it_is_while_no_secret_is_known():
    value = {"a": ("b",)}
    assert Redactor().clean(value) is value
