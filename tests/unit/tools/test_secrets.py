"""The secrets kind hands out a handle and never a value."""


async def test_a_handle_names_the_fields_and_holds_no_value(use, secrets):
    secrets["db"] = {"kind": "basic", "user": "me", "password": "canary"}
    output = await use("secrets", {"name": "db"})
    assert output["data"] == {"name": "db", "fields": ["password", "user"]}
    assert "canary" not in str(output)


async def test_a_secret_that_is_not_there_is_an_auth_error(use):
    assert (await use("secrets", {"name": "gone"}))["error"]["kind"] == "auth"
