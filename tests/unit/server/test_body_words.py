"""A body that does not fit is told by its place and by what fits there, not by a regular expression."""

import msgspec
import pytest

from noetl.ports.notification import NotificationBody
from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from noetl.server.body_words import body_words

NAME = "up to 64 letters, digits, _ . and -, with a letter or _ first"


@pytest.mark.parametrize(
    ("shape", "body", "said"),
    [
        (ScheduleAsk, {"name": "b d", "path": "a"}, f"name has to be {NAME}"),
        (
            ScheduleAsk,
            {"name": "a", "path": "a", "overlap": "no"},
            "overlap has to be one of allow, queue, replace, skip",
        ),
        (
            TriggerAsk,
            {"name": "a", "path": "a", "debounce": "0"},
            "debounce has to be a length of time, as in 30s, 5m, 2h or 1d",
        ),
        (
            TriggerAsk,
            {"name": "a", "path": "a", "after": [""]},
            "after[0] does not fit: expected a text of length >= 1",
        ),
        (ScheduleAsk, {"name": "a", "path": 1}, "path does not fit: expected a text, got a whole number"),
        (ScheduleAsk, [], "the body does not fit: Expected `object`, got `array`"),
    ],
)
def test_the_place_and_what_fits_there_are_said(shape: type, body: object, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(msgspec.json.encode(body), type=shape)
    assert body_words(refused.value, shape) == said


def test_of_a_list_of_words_each_may_be_one_of_them() -> None:
    shape = NotificationBody
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert({"name": "a", "to": "slack", "on": ["a b"]}, type=shape)
    said = body_words(refused.value, shape)
    assert said.startswith("on[0] has to be one of ")
    assert {"failed", "late"} <= set(said.replace(",", "").split())
