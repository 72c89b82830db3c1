// What pages of the documentation can do beyond being read: search, copy, the menu of a phone, and, where a NoETL
// server serves them, run their playbooks. Nothing is loaded from elsewhere; texts are set as text, never as HTML.
;(() => {
  const page = document.documentElement
  const make = (tag, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties)
    element.append(...inside)
    return element
  }

  // ---- theme and menu -----------------------------------------------------------------------------------

  document.querySelector('.theme').addEventListener('click', () => window.noetlChooseTheme())
  const menu = document.querySelector('.menu')
  const pages = document.getElementById('site-pages')
  const showMenu = (shown) => {
    pages.classList.toggle('shown', shown)
    menu.setAttribute('aria-expanded', String(shown))
  }
  menu.addEventListener('click', () => showMenu(!pages.classList.contains('shown')))
  const current = pages.querySelector('[aria-current]')
  if (current && current.offsetTop > pages.clientHeight - 80)
    pages.scrollTop = current.offsetTop - pages.clientHeight / 2

  // ---- where one is on the page -------------------------------------------------------------------------

  const contents = [...document.querySelectorAll('.contents a')]
  if (contents.length > 0) {
    const marks = contents.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))))
    const follow = () => {
      const passed = marks.filter((mark) => mark.getBoundingClientRect().top < 120).length
      contents.forEach((link, place) => {
        if (place === Math.max(0, passed - 1)) link.setAttribute('aria-current', 'true')
        else link.removeAttribute('aria-current')
      })
    }
    document.addEventListener('scroll', follow, { passive: true })
    follow()
  }

  // ---- search -------------------------------------------------------------------------------------------

  const input = document.getElementById('site-search')
  const found = document.getElementById('site-found')
  const MOST = 12
  let loading = null
  const rows = () => {
    loading ??= new Promise((resolve, reject) => {
      const script = make('script', { src: input.dataset.index })
      script.addEventListener('load', () => resolve(window.noetlSearch.map(prepared)))
      script.addEventListener('error', () => {
        loading = null
        reject(new Error('the index cannot be loaded'))
      })
      document.head.append(script)
    })
    return loading
  }
  const prepared = ([address, title, anchor, heading, text]) => ({
    address: `${address}#${anchor}`,
    title,
    heading,
    text,
    weight: /\/(errors|examples)[/.]/.test(`/${address}`) ? 0.4 : 1, // guides before findings and examples
    lowTitle: title.toLowerCase(),
    lowHeading: heading.toLowerCase(),
    lowText: text.toLowerCase(),
  })
  const score = (row, words) => {
    let total = row.title === row.heading ? 3 : 0 // the page itself before its parts
    let there = 0
    for (const word of words) {
      const inTitle = row.lowTitle.includes(word)
      const inHeading = row.lowHeading.includes(word)
      const inText = row.lowText.includes(word)
      if (!inTitle && !inHeading && !inText) continue
      there += 1
      if (row.lowHeading === word) total += 60
      if (inHeading) total += row.lowHeading.startsWith(word) ? 30 : 20
      if (inTitle) total += row.lowTitle.startsWith(word) ? 15 : 10
      if (inText) total += 4 + Math.min(4, row.lowText.split(word).length - 1)
    }
    const phrase = words.join(' ')
    if (row.lowHeading.includes(phrase)) total += 25
    if (words.length > 1 && row.lowText.includes(phrase)) total += 12
    return { there, points: row.lowHeading === phrase ? total : total * row.weight }
  }
  const marked = (text, words) => {
    const low = text.toLowerCase()
    const pieces = []
    let at = 0
    while (at < text.length) {
      const next = words
        .map((word) => [low.indexOf(word, at), word.length])
        .filter(([place]) => place >= 0)
        .sort(([a, longA], [b, longB]) => a - b || longB - longA)[0]
      if (!next) break
      pieces.push(text.slice(at, next[0]), make('mark', {}, text.slice(next[0], next[0] + next[1])))
      at = next[0] + next[1]
    }
    return [...pieces, text.slice(at)]
  }
  const around = (row, words) => {
    const places = words.map((word) => row.lowText.indexOf(word)).filter((place) => place >= 0)
    const begin = Math.max(0, (places.length > 0 ? Math.min(...places) : 0) - 40)
    const cut = row.text.slice(begin, begin + 140)
    return `${begin > 0 ? '…' : ''}${cut}${begin + 140 < row.text.length ? '…' : ''}`
  }
  const item = (row, words) => {
    const own = row.title === row.heading
    const name = make('b', {}, ...marked(row.heading, words))
    const where = make('span', { className: 'where' }, own ? '' : ` · ${row.title}`)
    const text = make('span', { className: 'around' }, ...marked(around(row, words), words))
    const link = make('a', { href: new URL(row.address, new URL(page.dataset.root, location.href)).href })
    link.tabIndex = -1
    link.append(name, where, text)
    const option = make('li', {}, link)
    option.setAttribute('role', 'option')
    option.setAttribute('aria-selected', 'false')
    return option
  }
  const show = (shown) => {
    found.hidden = !shown
    input.setAttribute('aria-expanded', String(shown))
  }
  const select = (place) => {
    const options = [...found.querySelectorAll('[role=option]')]
    options.forEach((option, number) => {
      option.id = `site-found-${number}`
      option.setAttribute('aria-selected', String(number === place))
    })
    if (options[place]) {
      options[place].scrollIntoView({ block: 'nearest' })
      input.setAttribute('aria-activedescendant', options[place].id)
    } else input.removeAttribute('aria-activedescendant')
  }
  const selected = () =>
    [...found.querySelectorAll('[role=option]')].findIndex(
      (option) => option.getAttribute('aria-selected') === 'true',
    )
  const search = async () => {
    const asked = input.value
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)
    if (words.length === 0) {
      show(false)
      return
    }
    let all
    try {
      all = await rows()
    } catch (error) {
      found.replaceChildren(make('li', { className: 'none' }, String(error.message)))
      show(true)
      return
    }
    if (input.value !== asked) return
    const scored = all.map((row) => [score(row, words), row])
    const most = Math.max(...scored.map(([{ there }]) => there)) // every word, or as many as any section has
    const best = scored
      .filter(([{ there }]) => there > 0 && there === most)
      .sort(([a], [b]) => b.points - a.points)
      .slice(0, MOST)
    const nothing = make('li', { className: 'none' }, `Nothing found for “${asked.trim().slice(0, 80)}”.`)
    found.replaceChildren(...(best.length > 0 ? best.map(([, row]) => item(row, words)) : [nothing]))
    show(true)
    select(0)
  }
  input.addEventListener('focus', () => rows().catch(() => {}))
  input.addEventListener('input', search)
  input.addEventListener('keydown', (event) => {
    const many = found.querySelectorAll('[role=option]').length
    if (event.key === 'ArrowDown') select((selected() + 1) % Math.max(1, many))
    else if (event.key === 'ArrowUp') select((selected() + many - 1) % Math.max(1, many))
    else if (event.key === 'Enter' && !found.hidden) found.querySelectorAll('[role=option] a')[selected()]?.click()
    else if (event.key === 'Escape') {
      show(false)
      input.blur()
    } else return
    event.preventDefault()
  })
  found.addEventListener('click', () => {
    show(false)
    showMenu(false)
  })
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search')) show(false)
  })
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, textarea, select, [contenteditable]')
    const wanted = (event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    if (wanted) {
      event.preventDefault()
      input.focus()
      input.select()
    } else if (event.key === 'Escape') showMenu(false)
  })

  // ---- copy ---------------------------------------------------------------------------------------------

  /** What is worth copying: of a session in a terminal, the commands without their prompts and answers. */
  const copied = (block) => {
    const text = block.querySelector('code').textContent
    const commands = text.split('\n').filter((line) => line.startsWith('$ '))
    return commands.length > 0 ? commands.map((line) => line.slice(2)).join('\n') : text
  }
  const copyButton = (block) => {
    const button = make('button', { type: 'button', className: 'copy' }, 'Copy')
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(copied(block))
        button.textContent = 'Copied'
      } catch {
        button.textContent = 'Not allowed'
      }
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
    return button
  }

  // ---- run ----------------------------------------------------------------------------------------------

  const API = '/api/v1'
  const EXAMPLES_API = '127.0.0.1:8081'

  class Refused extends Error {
    constructor(status, body) {
      super([body.detail ?? `the server answered ${status}`, body.hint].filter(Boolean).join('; '))
      this.status = status
    }
  }
  const call = async (method, route, body, csrf) => {
    const headers = { Accept: 'application/json' }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (csrf) headers['X-CSRF-Token'] = csrf
    const answer = await fetch(API + route, {
      method,
      headers,
      credentials: 'same-origin',
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const said = await answer.json().catch(() => ({}))
    if (!answer.ok) throw new Refused(answer.status, said)
    return said
  }
  /** Who the reader is, as the web UI knows it; asked for a token when that is not known. Null when they would not say. */
  const session = async () => {
    try {
      return await call('GET', '/session')
    } catch (error) {
      if (error.status !== 401) throw error
      return login()
    }
  }
  const login = () =>
    new Promise((resolve) => {
      const token = make('input', { type: 'password', autocomplete: 'off', required: true })
      token.setAttribute('aria-label', 'Token')
      const said = make('p', { className: 'said' })
      said.setAttribute('role', 'alert')
      const cancel = make('button', { type: 'button' }, 'Cancel')
      const row = make('div', { className: 'row' }, cancel, make('button', { type: 'submit' }, 'Enter and run'))
      const words = 'To run a playbook, this server wants to know who you are. Paste a token with the scopes run and write.'
      const form = make('form', {}, make('h2', {}, 'Who are you?'), make('p', {}, words), token, said, row)
      const dialog = make('dialog', {}, form)
      let who = null
      form.addEventListener('submit', async (event) => {
        event.preventDefault()
        try {
          who = await call('POST', '/session', { token: token.value.trim() })
          dialog.close()
        } catch (error) {
          said.textContent = error.message
        }
      })
      cancel.addEventListener('click', () => dialog.close())
      dialog.addEventListener('close', () => {
        dialog.remove()
        resolve(who)
      })
      document.body.append(dialog)
      dialog.showModal()
    })
  const run = async (block) => {
    const who = await session()
    if (who === null) return
    const registered = await call('POST', '/catalog', { playbook: block.dataset.playbook }, who.csrf)
    const start = { path: registered.path, version: registered.version }
    const begun = await call('POST', '/executions', start, who.csrf)
    location.assign(`/executions/${begun.execution_id}`)
  }
  const runButton = (block) => {
    const button = make('button', { type: 'button', className: 'run' }, 'Run')
    const problem = make('p', { className: 'problem', hidden: true })
    problem.setAttribute('role', 'alert')
    block.append(problem)
    if (block.dataset.playbook.includes(EXAMPLES_API)) {
      const words = 'Talks to the API of the examples: start it first with python examples/api.py'
      block.insertBefore(make('p', { className: 'note' }, words), problem)
    }
    button.addEventListener('click', async () => {
      button.disabled = true
      problem.hidden = true
      try {
        await run(block)
      } catch (error) {
        problem.textContent = error.message
        problem.hidden = false
      }
      button.disabled = false
    })
    return button
  }

  for (const block of document.querySelectorAll('.code')) {
    const tools = make('div', { className: 'tools' }, copyButton(block))
    if ('live' in page.dataset && block.dataset.playbook) tools.append(runButton(block))
    block.append(tools)
  }
})()
