/** The faults that the operator's page can switch on, of those that the local stack can inject. */
import { isObject, requestJson, type JsonObject } from '../shared/api.ts';

const OFTEN = { probability: 0.1 };
const SELDOM = { probability: 0.01 };
const WRITES = { PutItem: OFTEN, UpdateItem: OFTEN, TransactWriteItems: OFTEN };

/** A switch sets one field of a part of the faults. */
const SWITCHES = {
  killBefore: { part: 'functions', field: 'kill_before', on: OFTEN, off: {} },
  killAfter: { part: 'functions', field: 'kill_after', on: OFTEN, off: {} },
  twice: { part: 'functions', field: 'deliver_twice', on: OFTEN, off: {} },
  slow: { part: 'functions', field: 'delay_ms', on: 500, off: 0 },
  throttle: { part: 'engine', field: 'fail_before', on: WRITES, off: {}, reply: 'throttled' },
  lose: { part: 'engine', field: 'fail_after', on: WRITES, off: {}, reply: 'connection_closed' },
  cut: { part: 'sockets', field: 'cut', on: SELDOM, off: {} },
} as const satisfies Record<string, { part: string; field: string; on: unknown; off: unknown; reply?: string }>;

export type FaultName = keyof typeof SWITCHES;
/** The active faults, as the stack names them. */
export type Faults = JsonObject;

const names = Object.keys(SWITCHES) as readonly FaultName[];
const partOf = (faults: Faults, part: string): JsonObject => (isObject(faults[part]) ? faults[part] : {});

/** The faults that this stack can inject; without the embedded engine, none of DynamoDB. */
export function available(faults: Faults): readonly FaultName[] {
  return names.filter((name) => isObject(faults[SWITCHES[name].part]));
}

/** Whether a fault is active, also when something else has set it. */
export function isOn(faults: Faults, name: FaultName): boolean {
  const { part, field } = SWITCHES[name];
  return isActive(partOf(faults, part)[field]);
}

/** Whether any fault is active, also one without a switch. */
export function isAnyOn(faults: Faults): boolean {
  return Object.values(faults).some(isActive);
}

function isActive(value: unknown): boolean {
  return isObject(value) ? Object.values(value).some(isActive) : value === true || Number(value) > 0;
}

/** The faults after a switch. Replies of DynamoDB have one form, so its two switches exclude each other. */
export function switched(faults: Faults, name: FaultName, on: boolean): Faults {
  const { part, field, ...values } = SWITCHES[name];
  const others = partOf(faults, part);
  const reply = 'reply' in values && on ? { fail_before: {}, fail_after: {}, failure_reply: values.reply } : {};
  return { ...faults, [part]: { ...others, ...reply, [field]: on ? values.on : values.off } };
}

/** The function that has the faults of functions; `null`: all of them. */
export function onlyFunction(faults: Faults): string | null {
  const only = partOf(faults, 'functions')['function'];
  return typeof only === 'string' ? only : null;
}

/** The faults with those of functions limited to one; `null`: for all of them. */
export function limitedTo(faults: Faults, only: string | null): Faults {
  return { ...faults, functions: { ...partOf(faults, 'functions'), function: only } };
}

/** `GET /_local/faults`. */
export const getFaults = (): Promise<Faults> => requestJson('/_local/faults');

/** Replaces all faults, and returns them as the stack has them now. */
export const putFaults = (body: Faults): Promise<Faults> => requestJson('/_local/faults', { method: 'PUT', body });
