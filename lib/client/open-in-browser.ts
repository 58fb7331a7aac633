import { spawn } from 'node:child_process'

/**
 * Opens a web address in the person's own browser. The program is started with a list of arguments: no shell reads the address, and since it is
 * normalised and begins with http, no program takes it for an option. A browser that does not come up once its program has started is not noticed.
 * @throws when it is no http(s) address, or the program cannot be started
 */
export async function openInBrowser (url: string): Promise<void> {
  const { href, protocol } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError('openInBrowser takes http(s) addresses only')
  const [program, args] = browserCommand(process.platform, href, process.env)
  await new Promise<void>((resolve, reject) => {
    const child = spawn(program, args, { shell: false, stdio: 'ignore', detached: true })
    child.once('spawn', resolve)
    // Not the error itself: the address is in its arguments.
    child.once('error', ({ code }: NodeJS.ErrnoException) => reject(new Error(`${program} cannot be started: ${code}`)))
    child.unref()
  })
}

/** The program that opens an address, and its arguments. On Windows not `start`: that is a word of the shell, which reads `&` and `%`. */
export function browserCommand (platform: string, href: string, env: NodeJS.ProcessEnv): readonly [string, readonly string[]] {
  if (platform === 'darwin') return ['/usr/bin/open', [href]]
  // By its path: Windows looks in the current folder first.
  if (platform === 'win32') return [`${env.SystemRoot ?? 'C:\\Windows'}\\System32\\rundll32.exe`, ['url.dll,FileProtocolHandler', href]]
  return ['xdg-open', [href]]
}
