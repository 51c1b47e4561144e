// A server of the Model Context Protocol over stdio, small enough to read: serve(name, tools), where a tool is
// {name, description, properties, required, call: (arguments) => text}. A call that throws is answered with an error.
import {createInterface} from 'node:readline';

export function serve(name, tools) {
  const answer = (id, body) => process.stdout.write(JSON.stringify({jsonrpc: '2.0', id, ...body}) + '\n');
  const text = (text, isError = false) => ({result: {content: [{type: 'text', text}], isError}});
  createInterface({input: process.stdin}).on('line', line => {
    const {id, method, params} = JSON.parse(line);
    if (id === undefined) return; // a notification
    if (method === 'initialize') {
      return answer(id, {result: {protocolVersion: params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name, version: '1.0.0'}}});
    }
    if (method === 'tools/list') {
      return answer(id, {result: {tools: tools.map(t => ({name: t.name, description: t.description,
        inputSchema: {type: 'object', properties: t.properties ?? {}, required: t.required ?? Object.keys(t.properties ?? {})}}))}});
    }
    if (method !== 'tools/call') return answer(id, {error: {code: -32601, message: `no method ${method}`}});
    const tool = tools.find(t => t.name === params.name);
    if (!tool) return answer(id, text(`no tool ${params.name}`, true));
    try {
      answer(id, text(tool.call(params.arguments ?? {})));
    } catch (e) {
      answer(id, text(e.message, true));
    }
  });
}
