"""Runs azure-data-tables for the benchmark, which sends one line for each measurement.

A line is `WORK COUNT SIDE_BY_SIDE`, such as `get 10 1`. The answer is one line with the milliseconds of each repetition.
"""

import asyncio
import itertools
import sys
import time

from azure.data.tables import EdmType, TableClient
from azure.data.tables.aio import TableClient as AsyncTableClient

connection_string, table, reader, page = *sys.argv[1:4], int(sys.argv[4])
query = f"PartitionKey eq '{reader}'"
ids = itertools.count()


def key(number):
    return reader, f"{number % page:020}"


def entity(number):
    entity = {
        "PartitionKey": "Python",
        "RowKey": f"{number:020}",
        "Title": f"What I learned in my {number}th week",
        "Likes": number % 1000,
        "Views": (number * 7, EdmType.INT64),
        "Score": number / 2 + 0.25,
        "Draft": number % 3 == 0,
    }
    if number % 2 == 0:
        entity["Url"] = f"https://blog.example/Python/{number}"
    return entity


def one(client, work):
    number = next(ids)
    if work == "get":
        assert client.get_entity(*key(number))["Title"]
    elif work == "insert":
        client.create_entity(entity(number))
    else:
        posts = list(client.query_entities(query, results_per_page=page))
        assert len(posts) == page


async def one_of_many(client, work):
    number = next(ids)
    if work == "get":
        assert (await client.get_entity(*key(number)))["Title"]
    elif work == "insert":
        await client.create_entity(entity(number))
    else:
        posts = [post async for post in client.query_entities(query, results_per_page=page)]
        assert len(posts) == page


async def main():
    with TableClient.from_connection_string(connection_string, table) as client:
        async with AsyncTableClient.from_connection_string(connection_string, table) as async_client:
            for line in sys.stdin:
                work, count, side_by_side = line.split()
                took = []
                for _ in range(int(count)):
                    begin = time.perf_counter()
                    if side_by_side == "1":
                        one(client, work)
                    else:
                        await asyncio.gather(*(one_of_many(async_client, work) for _ in range(int(side_by_side))))
                    took.append((time.perf_counter() - begin) * 1000)
                print(*took, flush=True)


asyncio.run(main())
