// How code looks: the page's own variables, so that both themes fit.
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

export const codeTheme = [
  EditorView.theme({
    '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--panel)', fontSize: '12.5px' },
    '&.cm-focused': { outline: 'none' },
    '.cm-scroller': {
      fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
      lineHeight: '1.5',
    },
    '.cm-gutters': {
      backgroundColor: 'var(--panel)',
      color: 'var(--ink-3)',
      borderRight: '1px solid var(--line)',
    },
    '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--sunken)' },
    '.cm-cursor': { borderLeftColor: 'var(--ink)' },
    '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
      backgroundColor: 'var(--accent-soft) !important',
    },
    '.cm-tooltip': {
      backgroundColor: 'var(--panel)',
      color: 'var(--ink)',
      border: '1px solid var(--line-strong)',
      borderRadius: '5px',
      fontSize: '12px',
      maxWidth: '34rem',
    },
    '.cm-tooltip-autocomplete ul li[aria-selected]': {
      backgroundColor: 'var(--accent-soft)',
      color: 'var(--ink)',
    },
    '.cm-completionInfo': { padding: '6px 8px', maxWidth: '20rem' },
    // The marks that stand there by themselves are in few fonts.
    '.cm-collapsedLines:before': { content: '"⋯"', marginInlineEnd: '6px' },
    '.cm-collapsedLines:after': { content: '""', marginInlineStart: '0' },
    '.cm-diagnostic': { padding: '4px 8px', borderLeftWidth: '3px' },
    '.cm-diagnostic-error': { borderLeftColor: 'var(--failed)' },
    '.cm-diagnostic-warning': { borderLeftColor: 'var(--held)' },
    '.cm-lintRange-error': {
      backgroundImage: 'none',
      textDecoration: 'underline wavy var(--failed) 1px',
      textUnderlineOffset: '3px',
    },
    '.cm-lintRange-warning': {
      backgroundImage: 'none',
      textDecoration: 'underline wavy var(--held) 1px',
      textUnderlineOffset: '3px',
    },
    '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--ink-3)' },
    '.cm-lint-marker': { width: '0.9em', height: '0.9em' },
    '.cm-lint-marker-error': {
      content: 'none',
      borderRadius: '1px',
      transform: 'rotate(45deg)',
      backgroundColor: 'var(--failed)',
    },
    '.cm-lint-marker-warning': { content: 'none', borderRadius: '50%', backgroundColor: 'var(--held)' },
    '.cm-lint-marker-info': { content: 'none', borderRadius: '50%', backgroundColor: 'var(--ink-3)' },
    '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--ink)' },
    '.cm-searchMatch': { backgroundColor: 'var(--held-soft)' },
    '.cm-hover': { padding: '6px 8px', whiteSpace: 'pre-wrap' },
    '.cm-hover strong': { fontFamily: 'ui-monospace, monospace' },
    '.cm-changedLine': { backgroundColor: 'var(--done-soft) !important' },
    '.cm-deletedChunk': { backgroundColor: 'var(--failed-soft) !important' },
    '.cm-changedText': { background: 'none !important', fontWeight: '600' },
    '.cm-collapsedLines': {
      backgroundColor: 'var(--sunken)',
      color: 'var(--ink-3)',
      backgroundImage: 'none',
    },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
      { tag: [tags.string, tags.special(tags.string)], color: 'var(--done)' },
      { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--running)' },
      { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
      { tag: [tags.punctuation, tags.separator, tags.bracket], color: 'var(--ink-3)' },
      { tag: [tags.typeName, tags.labelName], color: 'var(--waiting)' },
    ]),
  ),
]
