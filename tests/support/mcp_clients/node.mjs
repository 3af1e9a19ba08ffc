// SPDX-License-Identifier: Apache-2.0
/*
 * node.mjs JOB: a client of the Model Context Protocol that was written in JavaScript, asked by lines of JSON (tests/support/mcp_clients.py).
 * JOB: modules: folder of the packages; client: a row of CLIENTS; era; command: of a server to spawn, or url and token of one.
 * Each line is a request, method and params, and gets a line: result, or error. The first line says what the connection is.
 */
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const job = JSON.parse(process.argv[2]);
const packages = createRequire(`${job.modules}/any.js`);
const self = { name: "ingero-test", version: "1" };
const headers = { Authorization: `Bearer ${job.token}` };

/* The revision that the first generation tells its carrier alone. */
function noted(transport) {
	const revision = {};
	const set = transport.setProtocolVersion?.bind(transport);
	transport.setProtocolVersion = (version) => {
		revision.is = version;
		set?.(version);
	};
	return revision;
}

/* The two generations of the official client: what differs is where the parts are, how an era is chosen, and the place of options. */
function official(Client, Stdio, Http, options, callTool) {
	return async () => {
		const client = new Client(self, options);
		const [command, ...args] = job.command ?? [];
		const transport = command ? new Stdio({ command, args, stderr: "inherit" }) : new Http(new URL(job.url), { requestInit: { headers } });
		const revision = noted(transport);
		await client.connect(transport);
		const ask = {
			"ping": () => client.ping(),
			"tools/list": (params) => client.listTools(params),
			"tools/call": (params, more) => callTool(client, params, more),
			"prompts/list": (params) => client.listPrompts(params),
			"prompts/get": (params) => client.getPrompt(params),
			"resources/list": (params) => client.listResources(params),
			"resources/templates/list": (params) => client.listResourceTemplates(params),
			"resources/read": (params) => client.readResource(params),
			"completion/complete": (params) => client.complete(params),
		};
		const negotiated = client.getNegotiatedProtocolVersion?.() ?? revision.is;
		return { ask, close: () => client.close(), told: { revision: negotiated, server: client.getServerVersion(), instructions: client.getInstructions() } };
	};
}

function generation1() {
	const { Client } = packages("@modelcontextprotocol/sdk/client/index.js");
	const { StdioClientTransport } = packages("@modelcontextprotocol/sdk/client/stdio.js");
	const { StreamableHTTPClientTransport } = packages("@modelcontextprotocol/sdk/client/streamableHttp.js");
	const call = (client, params, more) => client.callTool(params, undefined, more);
	return official(Client, StdioClientTransport, StreamableHTTPClientTransport, {}, call);
}

function generation2() {
	const { Client, StreamableHTTPClientTransport } = packages("@modelcontextprotocol/client");
	const { StdioClientTransport } = packages("@modelcontextprotocol/client/stdio");
	const mode = job.era === "modern" ? { pin: "2026-07-28" } : job.era;
	const call = (client, params, more) => client.callTool(params, more);
	return official(Client, StdioClientTransport, StreamableHTTPClientTransport, { versionNegotiation: { mode } }, call);
}

function vercel() {
	const { createMCPClient } = packages("@ai-sdk/mcp");
	const { StdioMCPTransport } = packages("@ai-sdk/mcp/mcp-stdio");
	return async () => {
		const [command, ...args] = job.command ?? [];
		const client = await createMCPClient({
			transport: command ? new StdioMCPTransport({ command, args, stderr: "inherit" }) : { type: "http", url: job.url, headers },
			protocolVersionDiscovery: job.era === "modern",
		});
		let tools = {};
		const ask = {
			"tools/list": async (params) => {
				const list = await client.listTools({ params });
				tools = { ...tools, ...client.toolsFromDefinitions(list) };
				return list;
			},
			"tools/call": (params) => tools[params.name]?.execute(params.arguments, { toolCallId: "1", messages: [] }) ?? client.callTool(params),
			"prompts/list": (params) => client.listPrompts({ params }),
			"prompts/get": (params) => client.getPrompt(params),
			"resources/list": (params) => client.listResources({ params }),
			"resources/templates/list": () => client.listResourceTemplates(),
			"resources/read": (params) => client.readResource(params),
			"completion/complete": (params) => client.complete(params),
		};
		const told = client.initializeResult;
		return { ask, close: () => client.close(), told: { revision: told.protocolVersion, server: client.serverInfo, instructions: client.instructions } };
	};
}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const failure = (error) => ({ error: `${error?.stack ?? error}${error?.cause ? `: ${error.cause}` : ""}` });
const CLIENTS = { "typescript-1": generation1, "typescript-2": generation2, "vercel": vercel };

try {
	const { ask, close, told } = await CLIENTS[job.client]()();
	say({ result: { ...told, methods: Object.keys(ask) } });
	for await (const line of createInterface({ input: process.stdin })) {
		const { method, params, progress } = JSON.parse(line);
		const told = [];
		try {
			const result = await ask[method](params, progress ? { onprogress: (one) => told.push(one) } : {});
			say({ result, progress: told });
		} catch (error) {
			say(failure(error));
		}
	}
	await close();
} catch (error) {
	say(failure(error));
	process.exitCode = 1;
}
