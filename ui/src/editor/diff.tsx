// Two texts side by side in one column: what was taken out and what came in.
import { yaml } from '@codemirror/lang-yaml'
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { mount } from './editor'
import { codeTheme } from './theme'

export default function Diff({ before, after }: { before: string; after: string }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!host.current) return
    const root = mount(host.current)
    const view = new EditorView({
      root,
      parent: root as unknown as HTMLElement,
      state: EditorState.create({
        doc: after,
        extensions: [
          lineNumbers(),
          yaml(),
          codeTheme,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            collapseUnchanged: { margin: 3, minSize: 6 },
            highlightChanges: true,
          }),
        ],
      }),
    })
    return () => view.destroy()
  }, [before, after])
  return <div ref={host} className="h-full min-h-0 overflow-auto" data-diff />
}
