"""FastMCP 4, which stands on `mcp` 2.x and has a client of its own: both eras."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp import MCPError
from mcp.client.subscriptions import listen
from python2 import ask_for, follow, outcome, told_to, written
from steps import MODERN, ROOT, SAID, Heard, Outcome, command, filled_in, main


async def elicit(message: str, _type: Any, params: Any, _context: Any) -> Any:
    if message == "decline":
        return ElicitResult(action="decline")
    return filled_in(params.requested_schema)


async def sample(_messages: Any, _params: Any, _context: Any) -> str:
    return SAID


class Peer:
    Error = MCPError

    def __init__(self, transport: str, revision: str) -> None:
        self.transport, self.asked = transport, revision
        self.heard = Heard()

    @asynccontextmanager
    async def another(self, target: str) -> AsyncIterator["Peer"]:
        async with connected(self.transport, self.asked, target) as peer:
            yield peer

    async def notice(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.heard.tell("updated", str(message.params.uri))
        elif isinstance(message, types.ToolListChangedNotification):
            self.heard.tell("tools changed", None)

    async def log(self, message: Any) -> None:
        self.heard.tell("log", message.data)

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def templates(self) -> list[str]:
        return [template.uri_template for template in await self.client.list_resource_templates()]

    async def prompts(self) -> list[str]:
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, progress: Any = None) -> Outcome:
        return outcome(await self.client.call_tool_mcp(name, arguments or {}, progress_handler=told_to(progress)))

    async def read(self, uri: str) -> str:
        return written((await self.client.read_resource(uri))[0])

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def complete_prompt(self, name: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=name)
        return (await self.client.complete(ref, {"name": argument, "value": value})).values

    async def complete_template(self, template: str, argument: str, value: str) -> list[str]:
        ref = types.ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.client.complete(ref, {"name": argument, "value": value})).values

    async def ping(self) -> None:
        await self.client.ping()

    async def set_level(self, level: Any) -> None:
        # In the modern era the level is said with each request.
        if self.asked != MODERN:
            await self.client.set_logging_level(level)

    # It leaves subscriptions to the session below.

    @asynccontextmanager
    async def subscription(self, uri: str) -> AsyncIterator[None]:
        session = self.client.session
        if self.asked == MODERN:
            async with listen(session, resource_subscriptions=[uri]) as listening, follow(listening, self.heard):
                yield
        else:
            await session.subscribe_resource(uri)
            yield
            await session.unsubscribe_resource(uri)

    @asynccontextmanager
    async def listening_to_tools(self) -> AsyncIterator[None]:
        session = self.client.session
        if self.asked == MODERN:
            async with listen(session, tools_list_changed=True) as listening, follow(listening, self.heard):
                yield
        else:
            yield

    async def cancel(self, name: str) -> None:
        began = asyncio.Event()
        running = asyncio.create_task(self.call(name, progress=lambda _: began.set()))
        await began.wait()
        running.cancel()
        await asyncio.wait([running])


@asynccontextmanager
async def connected(transport: str, revision: str, target: str) -> AsyncIterator[Peer]:
    peer = Peer(transport, revision)
    if transport == "http":
        carrier: Any = StreamableHttpTransport(target)
    elif transport == "sse":
        carrier = SSETransport(target)
    else:
        carrier = StdioTransport(*command())
    client = Client(
        carrier,
        mode=ask_for(revision),
        roots=[ROOT],
        sampling_handler=sample,
        elicitation_handler=elicit,
        log_handler=peer.log,
        message_handler=peer.notice,
    )
    async with client:
        peer.client, peer.server, peer.revision = client, client.server_info.name, client.protocol_version
        yield peer


if __name__ == "__main__":
    main(connected)
