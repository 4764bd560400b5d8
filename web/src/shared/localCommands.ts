/**
 * Commands of the local stack: the programs of the terminal, as far as the template lets pages run
 * them. They belong to no deployed API, so `docs/openapi.yaml` does not describe them.
 */
import { ApiError, query, requestJson, unexpectedAnswer } from './api.ts';

/** A command may take minutes on a busy machine. */
const TIMEOUT_MS = 300_000;

/** Whether the stack has this command. A deployed stage has none. */
export async function hasLocalCommand(name: string): Promise<boolean> {
  const { commands = [] } = await requestJson<{ commands?: string[] }>('/_local/commands').catch(() => ({
    commands: [],
  }));
  return commands.includes(name);
}

/** Runs a command and returns its output, one JSON value a line. Fails like {@link requestJson}. */
export async function runLocalCommand<T>(name: string, id: string | null = null): Promise<T[]> {
  const path = `/_local/commands/${name}${query({ id })}`;
  const answer = await requestJson<{ exitCode: number | null; output: string; error: string }>(path, {
    method: 'POST',
    timeoutMs: TIMEOUT_MS,
  });
  // 1 means that something is left to do, and the output tells it.
  if (answer.exitCode !== 0 && answer.exitCode !== 1) {
    throw new ApiError({ ...unexpectedAnswer(200), title: answer.error.replace(/^tidemark: /, '') });
  }
  return answer.output.split('\n').flatMap((line): T[] => (line === '' ? [] : [JSON.parse(line) as T]));
}
