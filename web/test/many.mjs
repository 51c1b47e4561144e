// 100,000 trajectories in a real browser: what is right is held to, and how long it takes is printed. The second address is of a server
// that has read nothing yet.
import { chromium } from 'playwright-core'

const [base, executablePath, fresh] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1300, height: 850 } })
page.setDefaultTimeout(300_000)
let wrong = 0
const expect = (ok, what) => {
  if (!ok) {
    wrong++
    console.log('WRONG: ' + what)
  }
}
page.on('pageerror', (e) => expect(false, `the page fails: ${e}`))
const since = (t) => `${Math.round(performance.now() - t)} ms`
const quantiles = (name, list) => {
  list.sort((a, b) => a - b)
  console.log(`${name}: median ${Math.round(list[list.length >> 1])} ms, p95 ${Math.round(list[Math.floor(0.95 * (list.length - 1))])} ms of ${list.length}`)
}

// The first screen, and a link to a group, each before any trajectory was read.
let t = performance.now()
await page.goto(`${base}#/run/overview`)
await page.waitForSelector('.card')
console.log(`first numbers after ${since(t)}`)
await page.waitForFunction(() => document.querySelectorAll('.plot canvas').length >= 4)
console.log(`four plots after ${since(t)}`)
t = performance.now()
await page.goto(`${fresh}#/run/groups?stage=grpo&step=12000&scenario=task-00`)
await page.locator('.columns .call').first().waitFor()
console.log(`a linked group after ${since(t)}`)
await page.locator('.entry.here').waitFor()
console.log(`the groups of its step after ${since(t)}`)

t = performance.now()
await page.goto(`${base}#/run/trajectories`)
await page.waitForSelector('.line')
console.log(`first trajectories after ${since(t)}`)
const found = () => page.evaluate(() => Number(/^([\d,]+)/.exec(document.querySelector('summary').textContent)[1].replaceAll(',', '')))
await page.waitForFunction(() => /^100,000 trajectories of 100,000\./.test(document.querySelector('summary').textContent))
console.log(`all trajectories after ${since(t)}`)

// Each search is timed to when its count stands there; those that follow one another have other counts.
const search = (q) =>
  page.evaluate(async (q) => {
    const box = document.querySelector('#search')
    const help = document.querySelector('#search-help')
    const count = () => document.querySelector('summary').textContent
    const before = count()
    const t = performance.now()
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, q)
    box.dispatchEvent(new Event('input', { bubbles: true }))
    while ((count() === before || help.ariaBusy === 'true') && performance.now() - t < 10_000) await new Promise((done) => setTimeout(done, 1))
    return performance.now() - t
  }, q)
const filters = []
for (let i = 0; i < 10; i++) for (const q of [`rollout:${i % 4}`, `rollout:${i % 4} reward>1`, `scenario:task-0${i}`, `step:${i * 100}`, `outcome:limit step<${i * 1000 + 7}`]) filters.push(await search(q))
quantiles('filters', filters)
await search('rollout:2 stage:grpo')
expect((await found()) === 24_980, `${await found()} third attempts`)
const texts = []
for (let i = 0; i < 10; i++) for (const q of [`task-0${i}`, 'answer is 133', `insect ${i} ladder`, 'ladder music']) texts.push(await search(q))
quantiles('words', texts)
await search('task-07')
expect((await found()) > 1000, `${await found()} of a task`)
await search('')

// scroll goes through a list, and times each place to when it is painted.
const scroll = (places) =>
  page.evaluate(async (places) => {
    const box = document.querySelector('.list')
    const out = []
    for (let i = 0; i < places; i++) {
      const t = performance.now()
      box.scrollTop = (box.scrollHeight * ((i * 37) % places)) / places
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      out.push(performance.now() - t)
    }
    return out
  }, places)
quantiles('scrolling', await scroll(100))
await page.evaluate(() => (document.querySelector('.list').scrollTop = 1e9))
await page.waitForFunction(() => [...document.querySelectorAll('.line')].length > 5)

// pressed presses a key, and times it to when a text stands in an element.
const pressed = (key, where, text) =>
  page.evaluate(
    async ([key, where, text]) => {
      const t = performance.now()
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      while (!document.querySelector(where)?.textContent.includes(text) && performance.now() - t < 10_000) await new Promise((done) => setTimeout(done, 1))
      return performance.now() - t
    },
    [key, where, text],
  )

// Groups: each step by its keys, to the attempts at its first scenario, and the steps as a list.
t = performance.now()
await page.goto(`${base}#/run/groups?stage=grpo&step=12000`)
await page.locator('.columns .call').first().waitFor()
console.log(`groups after ${since(t)}`)
const steps = []
for (let step = 11_999; step > 11_949; step--) steps.push(await pressed('[', `.columns:has(thead a[href*="%2F${step}%2F"])`, 'attempt 0'))
quantiles('groups of the step before', steps)
expect((await page.locator('.columns thead th').count()) === 5, 'a group has four attempts')
expect((await page.locator('.side .entry').count()) === 2, 'a step has two groups')

for (const [name, hash, seen] of [
  ['trajectory', 'run/trajectory?id=' + encodeURIComponent('grpo/task-00/12000/0'), 'article.message'], ['tokens', 'run/trajectory?id=' + encodeURIComponent('grpo/task-00/12000/0') + '&show=tokens', '.tokens .token'],
  ['tasks', 'run/tasks', '.side .entry'], ['servers', 'run/servers', '.tools tbody tr'], ['evaluation', 'run/evaluation', 'tbody .lane'],
]) {
  t = performance.now()
  await page.goto(`${base}#/${hash}`)
  await page.locator(seen).first().waitFor().catch(() => expect(false, `${name} shows nothing`))
  console.log(`${name} after ${since(t)}`)
}

// Curation: operations one after another, each to when the page has what it left; what the server took of it is told apart.
t = performance.now()
await page.goto(`${base}#/run/curate`)
await page.locator('.side .entry').first().waitFor()
console.log(`traces to curate after ${since(t)}`)
quantiles('scrolling traces', await scroll(100))
await page.evaluate(() => performance.clearResourceTimings())
const decisions = []
for (let i = 1; i <= 50; i++) decisions.push(await pressed('a', '.side', `undecided, ${i} accepted`))
quantiles('decisions', decisions)
const edits = []
for (let i = 0; i < 10; i++) {
  const asks = `What is edited ${i} times?`
  await page.locator('.main .message').nth(1).click()
  await page.keyboard.press('e')
  await page.locator('.writing textarea').fill(asks)
  t = performance.now()
  await page.keyboard.press('Control+Enter')
  await page.locator('.main .message', { hasText: asks }).waitFor()
  edits.push(performance.now() - t)
}
quantiles('edits', edits)
quantiles('operations on the disk', await page.evaluate(() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/curate?')).map((e) => e.duration)))
await browser.close()
process.exit(wrong ? 1 : 0)
