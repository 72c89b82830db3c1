// The YAML editor. It lives in a shadow root, where CodeMirror uses constructed style sheets: no inline style
// is made that the page's content policy would refuse.
import { autocompletion, type CompletionContext, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, foldGutter, indentOnInput } from '@codemirror/language'
import { lintGutter, type Diagnostic as Mark, setDiagnostics } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { EditorState } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { useEffect, useRef } from 'react'
import type { Diagnostic } from '../api/types'
import { describe, type Node, offers, placeOf } from './schema'
import { codeTheme } from './theme'

interface Props {
  initial: string
  onChange: (text: string) => void
  diagnostics: Diagnostic[]
  schema: Node | null
  line?: number | null
  readOnly?: boolean
  onSave?: () => void
}

export function mount(host: HTMLElement): ShadowRoot {
  return host.shadowRoot ?? host.attachShadow({ mode: 'open' })
}

export default function Editor({
  initial,
  onChange,
  diagnostics,
  schema,
  line = null,
  readOnly = false,
  onSave,
}: Props) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef({ onChange, schema, onSave })
  latest.current = { onChange, schema, onSave }

  // The editor owns its text from here on: what it tells comes back late, and must not be put over
  // what was typed since.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first text only
  useEffect(() => {
    if (!host.current) return
    const root = mount(host.current)
    const editor = new EditorView({
      root,
      parent: root as unknown as HTMLElement,
      state: EditorState.create({
        doc: initial,
        extensions: [
          lineNumbers(),
          foldGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          lintGutter(),
          yaml(),
          codeTheme,
          EditorState.tabSize.of(2),
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ 'aria-label': 'Playbook text' }),
          autocompletion({ override: [(context) => complete(context, latest.current.schema)], icons: false }),
          hoverTooltip((at, place) => hover(at, place, latest.current.schema)),
          keymap.of([
            {
              key: 'Mod-s',
              run: () => {
                latest.current.onSave?.()
                return true
              },
            },
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            ...searchKeymap,
            indentWithTab,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [readOnly])

  useEffect(() => {
    const editor = view.current
    if (editor)
      editor.dispatch(
        setDiagnostics(
          editor.state,
          diagnostics.map((diagnostic) => markOf(editor.state, diagnostic)),
        ),
      )
  }, [diagnostics])

  useEffect(() => {
    const editor = view.current
    if (!editor || !line || line > editor.state.doc.lines) return
    const place = editor.state.doc.line(line).from
    editor.dispatch({
      selection: { anchor: place },
      effects: EditorView.scrollIntoView(place, { y: 'center' }),
    })
    editor.focus()
  }, [line])

  return <div ref={host} className="h-full min-h-0" data-editor data-schema={schema !== null} />
}

function markOf(state: EditorState, diagnostic: Diagnostic): Mark {
  const row = state.doc.line(Math.min(Math.max(1, diagnostic.line), state.doc.lines))
  const from = Math.min(row.to, row.from + Math.max(0, diagnostic.column - 1))
  const rest = state.doc.sliceString(from, row.to)
  const word = /^[^\s:]+/.exec(rest)?.[0].length ?? 0
  return {
    from,
    to: Math.min(row.to, from + Math.max(1, word)),
    severity: diagnostic.severity,
    message: `${diagnostic.message}${diagnostic.hint ? `\n${diagnostic.hint}` : ''}`,
    source: diagnostic.code,
  }
}

function complete(context: CompletionContext, schema: Node | null) {
  const word = context.matchBefore(/[\w.]*/)
  if (!schema || !word || (word.from === word.to && !context.explicit)) return null
  const line = context.state.doc.lineAt(context.pos)
  const lines = context.state.doc.toString().split('\n')
  const completions = offers(schema, placeOf(lines, line.number - 1, context.pos - line.from))
  return {
    from: word.from,
    options: completions.map((completion) => ({
      label: completion.label,
      detail: completion.value ? 'value' : '',
      info: completion.info,
      apply: completion.value ? completion.label : `${completion.label}: `,
      type: completion.value ? 'enum' : 'property',
    })),
  }
}

function hover(view: EditorView, place: number, schema: Node | null) {
  const line = view.state.doc.lineAt(place)
  const description = schema && describe(schema, view.state.doc.toString().split('\n'), line.number - 1)
  if (!description) return null
  return {
    pos: line.from + line.text.search(/\S/),
    end: line.to,
    above: true,
    create: () => {
      const dom = document.createElement('div')
      dom.className = 'cm-hover'
      const name = document.createElement('strong')
      name.textContent = description.key
      dom.append(name, ` ${description.text}`)
      return { dom }
    },
  }
}
