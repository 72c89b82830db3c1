// A part of the page that failed says so, and the rest goes on.
import { Component, type ReactNode } from 'react'
import { Button } from './controls'

export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <div
        role="alert"
        className="m-4 flex flex-col items-start gap-2 rounded-md border border-failed bg-failed-soft p-3"
      >
        <p className="font-medium">This part of the page could not be shown.</p>
        <p className="break-words text-ink-2">{error.message}</p>
        <span className="flex gap-2">
          <Button onClick={() => this.setState({ error: null })}>Try again</Button>
          <Button onClick={() => window.location.reload()}>Reload the page</Button>
        </span>
      </div>
    )
  }
}
