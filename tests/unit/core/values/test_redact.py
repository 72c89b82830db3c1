"""Secret values are taken out by value, wherever they turn up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.core.values.redact import Redactor


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


PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nkjhgfdsaPOIUYTREWQ0987654321/+zz\nAb==\n-----END KEY-----\n"


@pytest.mark.parametrize("field", ["apiKey", "clientSecret", "APIKey", "dbPassword", "Api-Key", "apikey"])
def test_the_words_of_a_field_are_found_however_they_are_joined(field):
    assert knowing(**{field: "hunter22"}).clean("hunter22") == "***"


@pytest.mark.parametrize("field", ["tokenUrl", "keyName", "accessKeyId", "Secret-Path", "_"])
def test_what_is_only_about_a_secret_is_left_alone_in_any_spelling(field):
    assert knowing(**{field: "hunter22"}).secrets == ()


def test_everything_below_a_secret_field_is_secret_but_its_names():
    redactor = knowing(
        secret={"left": "hunter22", "more": ["hunter33", {"deep": "hunter44"}], "id": "open-id"}
    )
    assert redactor.clean("hunter22 hunter33 hunter44 open-id") == "*** *** *** open-id"
    assert knowing(value={"host": "db.example", "password": "hunter22"}).secrets == ("hunter22",)


@pytest.mark.parametrize(
    "text",
    [
        "https://x/?p=pa%24s%2Fw0rd%3F%20%C3%BC&q=1",
        "https://x/?p=pa%24s%2fw0rd%3f+%c3%bc&q=1",
        "https://x/?p=pa$s/w0rd?%20%C3%BC&q=1",
        "https://x/?p=%70%61%24%73%2F%77%30%72%64%3F%20%C3%BC&q=1",
    ],
)
def test_a_secret_is_masked_however_it_is_percent_encoded(text):
    redactor = knowing(password="pa$s/w0rd? ü")
    for _ in range(2):
        assert redactor.clean(text) == "https://x/?p=***&q=1"
    assert redactor.clean("100 %, a+b, %zz, and more of it") == "100 %, a+b, %zz, and more of it"


def test_a_secret_is_masked_in_base64_and_as_basic_credentials():
    redactor = knowing(username="app", password="hunter22?>")
    assert redactor.clean("Basic YXBwOmh1bnRlcjIyPz4=") == "Basic ***="
    assert redactor.clean("aHVudGVyMjI/Pg== aHVudGVyMjI_Pg==") == "***Pg== ***Pg=="


def test_a_secret_with_quotes_and_lines_is_masked_as_python_and_json_write_it():
    secret = 'it\'s "one"\nand two\\three'
    for shown in (repr(secret), repr(["'" + secret + '"']), msgspec.json.encode(secret).decode()):
        assert "two" not in knowing(secret=secret).clean(shown)


def test_the_lines_of_a_secret_are_masked_one_by_one():
    lines = [knowing(private_key=PEM).clean(f"  {line}") for line in PEM.splitlines()]
    assert lines == ["  -----BEGIN KEY-----", "  ***", "  ***", "  Ab==", "  -----END KEY-----"]


def test_a_number_that_is_secret_is_masked_as_a_number_too():
    assert knowing(secret=12345678).clean({"pin": 12345678, "n": 1234567, "yes": True}) == {
        "pin": "***",
        "n": 1234567,
        "yes": True,
    }


CHARACTERS = st.text(st.sampled_from('ab"\\/\n\t\x01\x7f%é€😀\u2028 +'), min_size=6, max_size=12)


@given(CHARACTERS, CHARACTERS, CHARACTERS)
def test_a_secret_is_found_in_whatever_stands_around_it(secret, before, after):
    """The JSON of a value, searched as one text, says of no value with a secret in it that it has none."""
    redactor = Redactor()
    redactor.learn({"password": secret})
    for value in ({"a": [1, before + secret + after]}, {before + secret: None}, [[secret]], secret):
        assert redactor.clean(value) != value


def test_a_value_without_a_secret_is_returned_as_it_is():
    redactor = Redactor()
    redactor.learn({"password": "correct horse"})
    value = {"a": ["correct", {"horse": 1.5}], "b": None}
    assert redactor.clean(value) is value


@pytest.mark.parametrize("odd", [{1, 2}, "half \ud800", b"bytes", 2**70, "100 %"])
def test_a_secret_is_masked_beside_what_is_no_json(odd):
    redactor = Redactor()
    redactor.learn({"password": "correct horse"})
    assert redactor.clean({"odd": odd, "a": "correct horse"}) == {"odd": odd, "a": "***"}
    assert redactor.clean({"odd": odd}) == {"odd": odd}


def test_a_secret_that_json_cannot_say_is_masked():
    redactor = Redactor()
    redactor.learn({"password": "half \ud800 of it"})
    assert redactor.clean(["it is half \ud800 of it"]) == ["it is ***"]
    assert redactor.clean(["it is whole"]) == ["it is whole"]


def test_material_that_comes_again_adds_nothing_and_other_material_does():
    redactor, first, other = Redactor(), {"token": "first-secret"}, {"token": "other-secret"}
    for material in (first, first, other, first):
        redactor.learn(material)
    assert redactor.clean(["first-secret", "other-secret"]) == ["***", "***"]
    assert set(redactor.secrets) == {"first-secret", "other-secret"}
