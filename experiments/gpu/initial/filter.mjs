// node filter.mjs TOOL,TOOL COMMAND ARG...: the MCP server that a command starts on stdio, with those of its tools alone.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [names, command, ...args] = process.argv.slice(2)
const kept = names.split(',')
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(server.stdin)
createInterface({ input: server.stdout }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.result?.tools) message.result.tools = message.result.tools.filter((tool) => kept.includes(tool.name))
  process.stdout.write(JSON.stringify(message) + '\n')
})
server.on('exit', (code) => process.exit(code ?? 1))
