// The main path of each screen in a real browser, on the made run that browser_test.go serves. It prints a line for each thing that is
// not as it should be. Where it prints "> DEED", the test does that to the run and answers with a line.
import fs from 'node:fs'
import readline from 'node:readline'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const [base, executablePath, file, report, endpoint] = process.argv.slice(2)
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const deed = async (what) => {
  console.log('> ' + what)
  await answers.next()
}
let at = ''
const wrong = (what) => console.log(`${at}: ${what}`)
const expect = (ok, what) => ok || wrong(what)

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1300, height: 850 } })
page.setDefaultTimeout(6000)
page.on('console', (m) => m.type() === 'error' && wrong(`the console says ${m.text().slice(0, 300)}`))
page.on('pageerror', (e) => wrong(`the page fails: ${e}`))
page.on('dialog', (d) => wrong(`a dialog opens: ${d.message()}`))
page.on('request', (r) => r.url().startsWith(base) || r.url().startsWith('file:') || r.url().startsWith('data:') || wrong(`the page asks ${r.url()}`))

// screen opens an address, runs what is to be seen there, and looks for what axe finds.
const screens = []
const screen = (name, hash, run) => screens.push({ name, hash, run })
const text = (selector) => page.locator(selector).first().innerText()
const has = async (selector, what, n = 1) => {
  await page.locator(selector).nth(n - 1).waitFor().catch(() => {})
  expect((await page.locator(selector).count()) >= n, `${what}: there are ${await page.locator(selector).count()} of ${selector}`)
}

screen('runs', '', async () => {
  await has('tbody tr', 'the run is in the list')
  expect((await text('tbody tr')).includes('hone train'), 'it does not say what made the run')
})
screen('overview', 'run/overview', async () => {
  await has('.plot canvas', 'four plots', 4)
  expect(/no spread/i.test(await text('.alert')), 'no alert says that groups have no spread')
  expect(/60% of the groups/.test(await text('.alert')), 'the alert has no number')
  await has('.card .lane', 'a card with an interval')
})
screen('groups', 'run/groups?stage=grpo&step=2', async () => {
  await has('.columns thead th', 'a column for each attempt', 5)
  await has('.call.other .differs', 'the call that differs is marked')
  await has('.columns .terms i.tone0', 'rewards are stacked')
  const before = await text('h2.task')
  await page.keyboard.press('j')
  await page.waitForFunction((b) => document.querySelector('h2.task')?.innerText !== b, before)
  expect((await page.evaluate(() => location.hash)).includes('scenario='), 'the address does not name the group')
})
screen('trajectories', 'run/trajectories', async () => {
  await has('.line', 'rows are laid out', 10)
  expect((await page.locator('.line').count()) < 80, 'all rows are laid out at once')
  await page.fill('#search', 'outcome:limit')
  await page.waitForFunction(() => [...document.querySelectorAll('.line')].every((l) => l.innerText.includes('limit')))
  await page.fill('#search', 'reward>1 term:checks<1')
  await page.locator('.empty').waitFor()
  await page.fill('#search', 'task-07 stage:grpo')
  await page.waitForFunction(() => [...document.querySelectorAll('.line')].every((l) => l.innerText.includes('task-07')))
  await page.locator('#search').blur()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => location.hash.includes('/trajectory?'))
  await has('article.message', 'the trajectory opens')
  await page.goBack()
  await page.waitForFunction(() => location.hash.includes('/trajectories?'))
})
screen('trajectory', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2'), async () => {
  await has('.paired .answer', 'a call is paired with its result')
  await has('.wrong-line, .paired .wrong', 'what the schema does not take is said in place')
  expect((await page.locator('.chat').innerText()).includes('<img src=x onerror='), 'markup is not shown as text')
  await page.getByRole('button', { name: /what was sampled/ }).click()
  await has('.raw-turn', 'what was sampled')
})
screen('a turn by its address', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2') + '&turn=1', async () => {
  await has('#turn-1.here', 'the turn is marked')
})
screen('tokens', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2') + '&show=tokens', async () => {
  await has('.token', 'tokens', 50)
  await page.keyboard.press('3')
  await page.waitForFunction(() => location.hash.includes('by=sampler'))
  await has('.tokens .token.up', 'tokens are coloured', 5)
})
screen('a token by its address', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2') + '&show=tokens&by=sampler&token=300', async () => {
  await has('.token.here', 'the token is marked')
  expect(/token 300/.test(await text('.detail')), 'what is known of the token is not said')
})
screen('tasks', 'run/tasks?q=task-0', async () => {
  await has('.side .entry', 'tasks', 8)
  for (const what of ['count 0ddba110', 'quality 5ca1ab1e', 'play-1']) expect((await text('.main dl.facts')).includes(what), `it is not said that ${what} made the task`)
  await page.locator('.main details summary').first().click()
  expect(/play-1, begun 2 Jan 2026[^]*5 words[^]*words a.txt holds then\s+ladder <b>/.test(await text('.main details')), `the play that proved the task is not shown: ${await text('.main details')}`)
  const before = await text('h2.task')
  await page.keyboard.press('j')
  await page.waitForFunction((b) => document.querySelector('h2.task')?.innerText !== b, before)
  await page.keyboard.press('a')
  await page.waitForFunction(() => /1 accepted/.test(document.querySelector('.side').innerText))
  await page.keyboard.press('x')
  await page.locator('.writing textarea').fill('it asks nothing')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => /1 rejected/.test(document.querySelector('.side').innerText))
  await page.keyboard.press('k')
  await page.keyboard.press('u')
  await page.waitForFunction(() => /0 rejected/.test(document.querySelector('.side').innerText))
  await page.keyboard.press('e')
  await page.locator('.writing textarea').fill('What a person asks')
  await page.keyboard.press('Control+Enter')
  await page.locator('h2.task', { hasText: 'What a person asks' }).waitFor()
})
screen('evaluation', 'run/evaluation', async () => {
  await has('tbody .lane', 'intervals', 2)
  await has('button[aria-pressed="true"]', 'made tasks and others apart')
  for (const part of ['Next', 'Cost and time of an episode', 'Terms of the reward', 'What the evaluation can find', 'What ran']) expect((await page.locator('h2', { hasText: part }).count()) === 1, `there is no ${part}`)
  await page.locator('.tasks tbody a').first().click()
  await page.waitForFunction(() => location.hash.includes('scenario='))
  await has('.pair .chat', 'both trajectories', 2)
  await page.goBack()
})
screen('servers', 'run/servers', async () => {
  await has('.tools tbody tr', 'tools')
  expect(/count/.test(await text('.tools tbody tr')), 'the tool is not named')
  expect(/1 tool changed since .*earlier/.test(await text('.changes')), 'it is not said what changed since the earlier run')
  await page.locator('.changes summary').click()
  await has('.changes .pair', 'what the tool says of itself, then and now')
})
screen('curate', 'run/curate', async () => {
  await has('.side .entry', 'traces', 5)
  await has('.training mark', 'what is trained is marked')
  const first = await text('.main h2.task + p')
  await page.keyboard.press('a')
  await page.waitForFunction(() => /1 accepted/.test(document.querySelector('.side').innerText))
  await page.waitForFunction((f) => document.querySelector('.main h2.task + p')?.innerText !== f, first)
  await page.keyboard.press('k')
  await page.waitForFunction(() => /accepted/.test(document.querySelector('.main h2.task + p')?.innerText))
  await page.keyboard.press('u')
  await page.waitForFunction(() => /0 accepted/.test(document.querySelector('.side').innerText))
  await page.keyboard.press('J')
  await page.keyboard.press('e')
  await page.locator('.writing textarea').fill('What is edited in the page?')
  await page.keyboard.press('Control+Enter')
  await page.locator('.main .message .block', { hasText: 'What is edited in the page?' }).waitFor()
  await page.locator('.training', { hasText: 'What is edited in the page?' }).waitFor()
  await page.keyboard.press('?')
  await has('[role=dialog] kbd', 'the keys are shown', 10)
  await page.keyboard.press('Escape')
})

screen('playground', 'run/playground', async () => {
  await page.getByLabel('Endpoint').fill(endpoint)
  await page.getByLabel('Model').fill('m')
  await page.getByLabel('What you say first').fill('count one, erase all')
  await page.getByRole('button', { name: 'Begin' }).click()
  await page.locator('.writing', { hasText: 'says that it only reads' }).waitFor({ timeout: 20000 }) // the servers start
  await look()
  await page.keyboard.press('n')
  await page.locator('.writing', { hasText: 'says that it destroys' }).waitFor()
  await page.keyboard.press('y')
  await page.locator('.answer.denied', { hasText: 'denied by the user' }).waitFor()
  await page.locator('.answer.ok', { hasText: 'erased' }).waitFor()
  await page.getByLabel('Run read-only calls without asking').click()
  await page.locator('.check input:checked').waitFor()
  await page.getByLabel('You say').fill('count two')
  await page.keyboard.press('Control+Enter')
  await page.locator('.answer.ok', { hasText: 'made unasked' }).waitFor()
  expect((await page.locator('.chat').innerText()).includes('<img src=x onerror='), 'markup is not shown as text')
  await page.getByRole('button', { name: 'Send to curation' }).click()
  await page.getByRole('link', { name: 'Curate it' }).click()
  await page.waitForFunction(() => location.hash.includes('run-played/curate?trace='))
  await page.locator('.main h2.task', { hasText: 'count one, erase all' }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Curate it' }).waitFor()
})
screen('a trajectory that is gone on from', 'run/trajectory?id=' + encodeURIComponent('grpo/task-01/0/0'), async () => {
  await page.getByRole('link', { name: 'Go on from here' }).nth(1).click()
  await page.waitForFunction(() => location.hash.includes('/playground?id=') && location.hash.includes('turn=1'))
  await page.getByLabel('Endpoint').fill(endpoint)
  await page.getByLabel('Model').fill('m')
  await page.getByRole('button', { name: 'Begin' }).click()
  await page.locator('.writing', { hasText: 'turn 0 made it before' }).waitFor({ timeout: 20000 })
  await page.keyboard.press('y')
  await page.locator('.message', { hasText: 'I was answered: {"words":5}' }).waitFor()
  await page.getByRole('button', { name: 'End the conversation' }).click()
  await page.getByRole('button', { name: 'Begin another' }).waitFor()
})

for (const scheme of ['light', 'dark']) {
  await page.emulateMedia({ colorScheme: scheme })
  for (const s of screens) {
    at = `${s.name}, ${scheme}`
    await page.goto(`${base}#/${s.hash}`)
    await page.locator('main').waitFor()
    try {
      if (scheme === 'light') await s.run()
      else await page.waitForFunction(() => !/Reading \.\.\./.test(document.querySelector('main').innerText))
    } catch (err) {
      wrong(`${String(err).split('\n')[0]} (${/screens\.mjs:\d+/.exec(err.stack)})`)
    }
    expect(!(await page.evaluate(() => window.ran)), 'what a server wrote has run')
    await look()
  }
}

// look asks axe, in a world of its own: the page's policy lets no other script in.
async function look() {
  const cdp = await page.context().newCDPSession(page)
  const { frameTree } = await cdp.send('Page.getFrameTree')
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' })
  await cdp.send('Runtime.evaluate', { contextId, expression: axe })
  const { result } = await cdp.send('Runtime.evaluate', {
    contextId, awaitPromise: true, returnByValue: true,
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ' ' + v.nodes.map((n) => n.target).slice(0, 3).join(' ')))`,
  })
  for (const v of result.value ?? ['axe did not run']) wrong(`axe: ${v}`)
  await cdp.detach()
}

// On a phone nothing stands beyond the edge.
await page.setViewportSize({ width: 390, height: 800 })
for (const s of screens) {
  at = `${s.name}, on a phone`
  await page.goto(`${base}#/${s.hash}`)
  await page.waitForFunction(() => !/Reading \.\.\./.test(document.querySelector('main').innerText))
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide <= 390, `the page is ${wide} pixels wide`)
}
await page.setViewportSize({ width: 1300, height: 850 })

// The same from a file, without a server.
for (const [name, hash, seen] of [
  ['runs', '', 'tbody tr'], ['overview', 'run/overview', '.plot canvas'], ['groups', 'run/groups?stage=grpo&step=2', '.columns .differs'], ['trajectories', 'run/trajectories?q=outcome:limit', '.line'],
  ['tokens', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2') + '&show=tokens&token=300', '.token.here'], ['evaluation', 'run/evaluation?scenario=task-01', '.pair .chat'], ['tasks', 'run/tasks', '.side .entry'], ['servers', 'run/servers', '.tools tbody tr'], ['the playground', 'run/playground', '.empty code'],
]) {
  at = `${name}, from a file`
  await page.goto(`${file}#/${hash}`)
  await has(seen, 'nothing is there')
}

// The report: one file that opens where it has most to say, and holds the rest too.
at = 'the report'
await page.goto(report)
await page.waitForFunction(() => location.hash === '#/run/overview')
await has('.plot canvas', 'four plots', 4)
for (const [name, hash, seen] of [
  ['groups', 'run/groups?stage=grpo&step=2', '.columns .differs'], ['trajectories', 'run/trajectories?q=outcome:limit', '.line'], ['a trajectory', 'run/trajectory?id=' + encodeURIComponent('grpo/task-03/1/2'), 'article.message'],
  ['evaluation', 'run/evaluation', 'tbody .lane'], ['a task of it', 'run/evaluation?scenario=task-01', '.pair .chat'], ['tasks', 'run/tasks', '.side .entry'], ['servers', 'run/servers', '.tools tbody tr'],
]) {
  at = `the report, ${name}`
  await page.evaluate((h) => (location.hash = '#/' + h), hash)
  await has(seen, 'nothing is there')
  expect(!(await page.evaluate(() => window.ran)), 'what a server wrote has run')
  if (name === 'evaluation') await look()
}
at = 'the report, tokens'
await page.evaluate(() => (location.hash = '#/run/trajectory?show=tokens&id=' + encodeURIComponent('grpo/task-03/1/2')))
await page.locator('main', { hasText: 'hone view run shows all of it' }).waitFor().catch(() => wrong('it does not say where the tokens are'))

at = 'what is exported'
await deed('export')

at = 'a run that goes on'
await page.emulateMedia({ colorScheme: 'light' })
await page.goto(`${base}#/run/trajectories?q=scenario:fresh`)
await page.locator('.empty').waitFor()
await deed('put')
await page.locator('.line', { hasText: 'grpo/fresh/500/0' }).waitFor().catch(() => wrong('a trajectory that was put is not shown'))
await page.locator('.line', { hasText: 'not yet' }).waitFor().catch(() => wrong('it is not said that it has no score'))
await deed('score')
await page.locator('.line', { hasText: '0.25' }).waitFor().catch(() => wrong('its score is not shown'))
await deed('remove')
await page.locator('main .problem').first().waitFor().catch(() => wrong('it is not said that the run has gone'))
await browser.close()
process.exit(0) // the test holds the way in open
