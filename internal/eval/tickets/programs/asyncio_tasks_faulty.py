"""A crawler keeps the task of each page for a gather that comes at the end.

ticket: aio-libs/aiohttp#5726
class: host-growth
holder: tasks
cause: futures-kept
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
    tasks = []
    page = 0
    while time.time() < END:
        page += 1
        task = asyncio.create_task(fetch(limit, page))
        tasks.append(task)  # grows
        await asyncio.sleep(0.02)
    await asyncio.gather(*tasks)


asyncio.run(crawl())
