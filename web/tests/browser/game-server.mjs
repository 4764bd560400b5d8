/** A scripted server for the game's page: HTTP answers and a WebSocket, with the protocol's examples. */
import { readFile } from 'node:fs/promises';
import { problem, until } from './harness.mjs';

/** @import { Page, Route, WebSocketRoute } from 'playwright-core' */

/**
 * A JSON object of any shape.
 *
 * @typedef {Record<string, any>} Json
 */

export const gameId = '0199c0de-7a10-7c3e-9b52-3f1d8a40c001';
export const anzu = '0199c0d0-1111-7aaa-8aaa-000000000001';
export const bunta = '0199c0d0-2222-7bbb-8bbb-000000000002';
export const chie = '0199c0d0-3333-7ccc-8ccc-000000000003';

/** Reads an example message of the protocol. @param {string} name @returns {Promise<Json>} */
export async function example(name) {
  return JSON.parse(await readFile(new URL(`../protocol/${name}.json`, import.meta.url), 'utf8'));
}

/** The server of one game, for one browser. */
export class GameServer {
  /** The browser's player. */
  playerId = bunta;
  role = 'player';
  /** The messages from clients. @type {Json[]} */
  heard = [];
  /** Bodies of `POST` requests, by path. @type {{ path: string, body: Json, token: string | null }[]} */
  posted = [];
  /** Answers that replace the default ones, by "METHOD path". @type {Record<string, (route: Route) => unknown>} */
  answers = {};
  /** The open connection. @type {WebSocketRoute | undefined} */
  socket;
  connections = 0;
  /** The chat history that a new connection gets. @type {Json[]} */
  lines = [];
  /** The saved batches of the drawing. @type {Json[]} */
  batches = [];
  #version = 100;

  /** @param {Json} room The room that a new connection gets. */
  constructor(room) {
    this.room = room;
  }

  /** A server with a game in the state of an example. @param {string} name */
  static async at(name) {
    return new GameServer((await example(name))['room']);
  }

  /** For `prepare`. @param {Page} page */
  async install(page) {
    await page.route(
      (url) => /^\/(games|players)(\/|$)/.test(url.pathname),
      (route) => this.#answer(route),
    );
    await page.routeWebSocket(
      (url) => url.pathname === '/ws',
      (socket) => {
        this.connections += 1;
        this.socket = socket;
        socket.onMessage((text) => this.#hear(socket, JSON.parse(String(text))));
      },
    );
  }

  /** Gives the browser a seat in the game. @param {Page} page @param {string} name */
  async seat(page, name = 'ぶんた') {
    await page.addInitScript(
      ([id, name, game]) => {
        localStorage.setItem('tidemark.game.player', String(id));
        localStorage.setItem('tidemark.game.token', 'token-1');
        localStorage.setItem('tidemark.game.name', String(name));
        localStorage.setItem('tidemark.game.last', String(game));
      },
      [this.playerId, name, gameId],
    );
    await this.install(page);
  }

  /** Sends a message to the browser. @param {Json} message */
  say(message) {
    this.socket?.send(JSON.stringify(message));
  }

  /** Sends the room of an example, with a newer version. @param {string} name @param {Json} [changes] of the room */
  async show(name, changes = {}) {
    const { room } = await example(name);
    this.room = { ...room, ...changes, version: ++this.#version };
    this.say({ type: 'room', room: this.room });
  }

  /** Waits for the next message of this kind from the browser. @param {string} action */
  async hears(action) {
    const isNext = (/** @type {Json} */ message) => message['action'] === action;
    await until(
      () => this.heard,
      (heard) => heard.some(isNext),
    );
    return this.heard.splice(this.heard.findIndex(isNext), 1)[0] ?? {};
  }

  /** @param {WebSocketRoute} socket @param {Json} message */
  #hear(socket, message) {
    this.heard.push(message);
    if (message['action'] === 'ping') socket.send('{"type":"pong"}');
    if (message['action'] === 'catch-up') {
      const batches = this.batches.filter((batch) => batch['seq'] > message['after']);
      const saved = this.batches.at(-1)?.['seq'] ?? 0;
      socket.send(JSON.stringify({ type: 'ink', turnId: message['turnId'], batches, saved, last: true }));
    }
    if (message['action'] !== 'hello') return;
    const you = { playerId: this.playerId, role: this.role };
    socket.send(JSON.stringify({ type: 'welcome', protocol: 1, you, room: this.room }));
    socket.send(JSON.stringify({ type: 'chat', lines: this.lines }));
  }

  /** @param {Route} route */
  async #answer(route) {
    const request = route.request();
    const { pathname } = new URL(request.url());
    if (request.method() === 'POST') {
      const token = (await request.headerValue('authorization')) ?? null;
      this.posted.push({ path: pathname, body: request.postDataJSON(), token });
    }
    const special = this.answers[`${request.method()} ${pathname}`];
    if (special) return special(route);
    if (request.method() === 'POST') {
      this.role = request.postDataJSON()['role'] ?? 'player';
      const { playerId, role, room } = this;
      return route.fulfill({
        status: 201,
        json: { gameId: room['gameId'], playerId, playerToken: 'token-1', ticket: 'ticket', role, room },
      });
    }
    if (pathname === `/games/${gameId}`) return route.fulfill({ json: this.room });
    if (pathname === '/games' || pathname.endsWith('/turns')) return route.fulfill({ json: { items: [] } });
    return route.fulfill(problem(404, 'No such game'));
  }
}
