// What is wrong with the text, in order, each one a way to its line.
import type { Diagnostic } from '../../api/types'
import { classes } from '../../design/classes'
import { StatusIcon } from '../../design/status'

export function Findings({
  findings,
  jump,
  failed,
}: {
  findings: Diagnostic[]
  jump: (line: number) => void
  failed: unknown
}) {
  const errors = findings.filter((finding) => finding.severity === 'error').length
  const warnings = findings.filter((finding) => finding.severity === 'warning').length
  return (
    <div
      className="max-h-44 shrink-0 overflow-auto border-t border-line bg-panel"
      aria-live="polite"
      data-errors={errors}
      data-warnings={warnings}
    >
      <p className="sticky top-0 flex items-center gap-1.5 bg-panel px-3 py-1 text-xs text-ink-3">
        {failed ? (
          <>
            <StatusIcon status="held" size={12} /> the text could not be checked
          </>
        ) : errors + warnings === 0 ? (
          <>
            <StatusIcon status="done" size={12} />{' '}
            {findings.length === 0 ? 'no findings' : 'no errors and no warnings'}
          </>
        ) : (
          `${errors} ${errors === 1 ? 'error' : 'errors'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`
        )}
      </p>
      <ul>
        {findings.map((finding, index) => (
          <li key={index} className="flex items-start pr-3 hover:bg-sunken">
            <button
              type="button"
              className="flex min-w-0 flex-1 items-start gap-2 px-3 py-0.5 text-left"
              onClick={() => jump(finding.line)}
              data-finding={finding.code}
              data-line={finding.line}
            >
              <span className="mt-1">
                <StatusIcon status={finding.severity} size={12} />
              </span>
              <span className="w-14 shrink-0 font-mono text-xs leading-5 text-ink-3">
                {finding.line}:{finding.column}
              </span>
              <span className="min-w-0 break-words">
                {finding.message}
                {finding.hint && <span className="text-ink-3"> · {finding.hint}</span>}
              </span>
            </button>
            <a
              href={`/docs/errors/${finding.code}`}
              target="_blank"
              rel="noopener"
              title="What this finding means"
              className={classes(
                'hidden shrink-0 py-0.5 font-mono text-xs leading-5 text-ink-3 sm:block',
                'underline hover:text-accent',
              )}
            >
              {finding.code}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
