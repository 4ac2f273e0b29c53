"""Python's `mcp` 2.x: both eras."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import mcp.client.session
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.subscriptions import ResourceUpdated
from steps import MODERN, ROOT, SAID, Heard, Outcome, command, filled_in, main


async def elicit(_context: Any, params: Any) -> types.ElicitResult:
    if params.message == "decline":
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=filled_in(params.requested_schema))


async def sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text=SAID)
    return types.CreateMessageResult(role="assistant", content=content, model="none", stop_reason="endTurn")


async def list_roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="project")])


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

    async def log(self, params: Any) -> None:
        self.heard.tell("log", params.data)

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [each.uri_template for each in (await self.client.list_resource_templates()).resource_templates]

    async def prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, progress: Any = None) -> Outcome:
        result = await self.client.call_tool(name, arguments or {}, progress_callback=told_to(progress))
        return outcome(result)

    async def read(self, uri: str) -> str:
        return written((await self.client.read_resource(uri)).contents[0])

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def complete_prompt(self, name: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=name)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def complete_template(self, template: str, argument: str, value: str) -> list[str]:
        ref = types.ResourceTemplateReference(type="ref/resource", uri=template)
        return (await self.client.complete(ref, {"name": argument, "value": value})).completion.values

    async def ping(self) -> None:
        await self.client.send_ping()

    async def set_level(self, level: Any) -> None:
        # In the modern era the level is said with each request.
        if self.asked != MODERN:
            await self.client.set_logging_level(level)

    @asynccontextmanager
    async def subscription(self, uri: str) -> AsyncIterator[None]:
        if self.asked == MODERN:
            async with self.client.listen(resource_subscriptions=[uri]) as listening, follow(listening, self.heard):
                yield
        else:
            await self.client.subscribe_resource(uri)
            yield
            await self.client.unsubscribe_resource(uri)

    @asynccontextmanager
    async def listening_to_tools(self) -> AsyncIterator[None]:
        if self.asked == MODERN:
            async with self.client.listen(tools_list_changed=True) as listening, follow(listening, self.heard):
                yield
        else:
            yield

    async def cancel(self, name: str) -> None:
        began = asyncio.Event()
        running = asyncio.create_task(self.call(name, progress=lambda _: began.set()))
        await began.wait()
        running.cancel()
        await asyncio.wait([running])


def told_to(progress: Any) -> Any:
    async def told(progress_made: float, _total: float | None, _message: str | None) -> None:
        progress(progress_made)

    return told if progress else None


def outcome(result: types.CallToolResult) -> Outcome:
    text = "".join(block.text for block in result.content if block.type == "text")
    return Outcome(text, [block.type for block in result.content], bool(result.is_error))


def written(contents: Any) -> str:
    return contents.text if hasattr(contents, "text") else contents.blob


@asynccontextmanager
async def follow(listening: Any, heard: Heard) -> AsyncIterator[None]:
    """Tells what comes on a listen stream to `heard`, as long as it is entered."""

    async def hear() -> None:
        async for event in listening:
            if isinstance(event, ResourceUpdated):
                heard.tell("updated", event.uri)
            else:
                heard.tell("tools changed", None)

    hearing = asyncio.create_task(hear())
    yield
    hearing.cancel()
    await asyncio.wait([hearing])


def ask_for(revision: str) -> str:
    """Lets the next handshake ask for this revision, and returns the mode in which there is one."""
    if revision == MODERN:
        return "auto"
    mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    return "legacy"


@asynccontextmanager
async def connected(transport: str, revision: str, target: str) -> AsyncIterator[Peer]:
    peer = Peer(transport, revision)
    server: Any = target
    if transport == "sse":
        server = sse_client(target)
    elif transport != "http":
        program, arguments = command()
        server = StdioServerParameters(command=program, args=arguments)
    client = Client(
        server,
        mode=ask_for(revision),
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        logging_callback=peer.log,
        log_level="debug",
        message_handler=peer.notice,
    )
    async with client:
        peer.client, peer.server, peer.revision = client, client.server_info.name, client.protocol_version
        yield peer


if __name__ == "__main__":
    main(connected)
