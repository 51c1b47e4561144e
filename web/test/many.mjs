// 100,000 trajectories in a real browser: what is right is held to, and how long it takes is printed.
import { chromium } from 'playwright-core'

const [base, executablePath] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1300, height: 850 } })
page.setDefaultTimeout(120_000)
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

let t = performance.now()
await page.goto(`${base}#/run/overview`)
await page.waitForSelector('.card')
console.log(`first numbers after ${since(t)}`)
await page.waitForFunction(() => document.querySelectorAll('.plot canvas').length >= 4)
console.log(`four plots after ${since(t)}`)
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
    const before = document.querySelector('summary').textContent
    const t = performance.now()
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, q)
    box.dispatchEvent(new Event('input', { bubbles: true }))
    while (document.querySelector('summary').textContent === before && performance.now() - t < 10_000) await new Promise((done) => setTimeout(done, 1))
    return performance.now() - t
  }, q)
const filters = []
for (let i = 0; i < 10; i++) for (const q of [`rollout:${i % 4}`, `rollout:${i % 4} reward>1`, `scenario:task-0${i}`, `step:${i * 100}`, `outcome:limit step<${i * 1000 + 7}`]) filters.push(await search(q))
quantiles('filters', filters)
await search('rollout:2 stage:grpo')
expect((await found()) === 24_980, `${await found()} third attempts`)
const texts = []
for (let i = 0; i < 10; i++) for (const q of [`task-0${i}`, `insect ${i} ladder`]) texts.push(await search(q))
quantiles('words', texts)
await search('task-07')
expect((await found()) > 1000, `${await found()} of a task`)
await search('')
quantiles(
  'scrolling',
  await page.evaluate(async () => {
    const box = document.querySelector('.list')
    const out = []
    for (let i = 0; i < 100; i++) {
      const t = performance.now()
      box.scrollTop = (box.scrollHeight * ((i * 37) % 100)) / 100
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      out.push(performance.now() - t)
    }
    return out
  }),
)
await page.evaluate(() => (document.querySelector('.list').scrollTop = 1e9))
await page.waitForFunction(() => [...document.querySelectorAll('.line')].length > 5)
for (const [name, hash, seen] of [
  ['groups', 'run/groups?stage=grpo&step=12000', '.columns .call'], ['trajectory', 'run/trajectory?id=' + encodeURIComponent('grpo/task-00/12000/0'), 'article.message'],
  ['tokens', 'run/trajectory?id=' + encodeURIComponent('grpo/task-00/12000/0') + '&show=tokens', '.tokens .token'], ['tasks', 'run/tasks', '.side .entry'], ['servers', 'run/servers', '.tools tbody tr'], ['evaluation', 'run/evaluation', 'tbody .lane'],
]) {
  t = performance.now()
  await page.goto(`${base}#/${hash}`)
  await page.locator(seen).first().waitFor().catch(() => expect(false, `${name} shows nothing`))
  console.log(`${name} after ${since(t)}`)
}
await browser.close()
process.exit(wrong ? 1 : 0)
