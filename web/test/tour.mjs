// Takes the pictures of docs/VIEW.md from a demo's run: node web/test/tour.mjs ADDRESS RUN FOLDER, with the address that hone view prints.
import fs from 'node:fs'
import { chromium } from 'playwright-core'

const [base, run, folder, executablePath = '/usr/bin/chromium'] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 760 } })
const cdp = await page.context().newCDPSession(page)
const take = async (name, hash, ready, then) => {
  await page.goto(`${base}#/${encodeURIComponent(run)}/${hash}`)
  await page.locator(ready).first().waitFor()
  await page.waitForTimeout(500)
  await then?.()
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: 75 })
  fs.writeFileSync(`${folder}/${name}.webp`, Buffer.from(data, 'base64'))
}
await take('overview', 'overview', '.plot canvas')
await take('groups', 'groups?stage=grpo', '.columns .call')
const attempt = await page.locator('.columns thead a').first().getAttribute('href')
await take('tokens', attempt.split('/').slice(2).join('/') + '&show=tokens&by=sampler', '.tokens .token.up', async () => {
  await page.locator('.tokens .token.up').first().click()
  await page.locator('.tokens .token.here').scrollIntoViewIfNeeded()
})
await take('evaluation', 'evaluation', 'tbody .lane')
await take('curate', 'curate?q=train', '.training mark')
await browser.close()
