"""The servers that the tests start: they keep their port and data, and leave nothing behind."""

import asyncpg
import nats
import pytest
from obstore.store import S3Store

from tests.servers import NatsServer, PostgresServer, S3Server


async def _value(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_postgresql_keeps_what_was_committed_over_a_crash() -> None:
    with PostgresServer.start() as server:
        dsn = server.new_database()
        await _value(dsn, "create table t as select 7 as n")
        server.kill()
        with pytest.raises(OSError):
            await _value(dsn, "select n from t")
        server.restart()
        assert await _value(dsn, "select n from t") == 7
        assert await _value(dsn, "show fsync") == "on"
    assert not server.folder.exists()


async def test_nats_loses_its_streams_when_it_is_wiped_and_only_then() -> None:
    with NatsServer.start() as server:
        client = await nats.connect(server.url)
        await client.jetstream().add_stream(name="s", subjects=["s.>"])
        await client.close()
        for change, streams in ((server.kill, 1), (server.restart, 1), (server.wipe, 0)):
            change()
            server.restart()
            client = await nats.connect(server.url)
            assert len(await client.jetstream().streams_info()) == streams
            await client.close()
    assert not server.folder.exists()


async def test_a_database_goes_with_its_test(postgres_server: PostgresServer, database: str) -> None:
    assert await _value(database, "select count(*) from pg_tables where schemaname = 'public'") == 0
    postgres_server.drop_database(database)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await _value(database, "select 1")


def test_the_s3_store_keeps_objects(s3_server: S3Server) -> None:
    given = s3_server.environment
    store = S3Store(
        s3_server.new_bucket(),
        endpoint=given["AWS_ENDPOINT_URL"],
        access_key_id=given["AWS_ACCESS_KEY_ID"],
        secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
        region=given["AWS_REGION"],
        client_options={"allow_http": True},
    )
    store.put("a/b", b"kept")
    assert bytes(store.get("a/b").bytes()) == b"kept"
