"""A crawler keeps the task of each page until the page is there.

ticket: aio-libs/aiohttp#5726
class: none
"""

import asyncio
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


async def fetch(limit, page):
    async with limit:
        await asyncio.sleep(0.05)
        return b"<html>" + os.urandom(60_000) + b"</html>"


async def crawl():
    limit = asyncio.Semaphore(100)
    tasks = set()
    page = 0
    while time.time() < END:
        page += 1
        task = asyncio.create_task(fetch(limit, page))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.02)
    await asyncio.gather(*tasks)


asyncio.run(crawl())
