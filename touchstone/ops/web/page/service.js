// Talks to the service: requests, and one stream that reconnects by itself and continues where it was.

const TOKEN_KEY = "touchstone.token";
const QUIET_MS = 60_000; // a stream that is silent for so long is dead; the service sends a heartbeat every 15 s
const RETRY_MS_MAX = 15_000;
const KEEPALIVE_CHARS_MAX = 16_000; // browsers let requests of 64 kB in all outlive their page
const BUFFER_CHARS_MAX = 64_000_000;

const LINK_KEY = "touchstone.link";
/** `link`: the address that a link of a reviewer leads to, if one was opened in this tab; it opens one queue and nothing else. */
const session = {link: takeLink(), token: readToken(), tokenAsked: null, tokenGiven: null};
document.body.classList.toggle("linked", session.link !== null);
addEventListener("hashchange", () => { if (/^#link=/.test(location.hash)) location.reload(); });

/** A link for one reviewer has its token behind the #, which no request and no log has. It is kept as a token, and taken out of the address. */
function takeLink() {
  const found = /^#link=([!-~]{1,4096})$/.exec(location.hash);
  try {
    if (found) {
      sessionStorage.setItem(TOKEN_KEY, decodeURIComponent(found[1]));
      sessionStorage.setItem(LINK_KEY, location.pathname);
      history.replaceState(history.state, "", location.pathname + location.search);
    }
    return sessionStorage.getItem(LINK_KEY);
  } catch { return null; }
}

function readToken() {
  try { return sessionStorage.getItem(TOKEN_KEY); } catch { return null; }
}

/** Show the form and wait for a token. All requests that wait share it. */
function askToken(refused) {
  if (session.tokenAsked === null) {
    setText($("token-fault"), session.link ? "This link is not valid, or no longer. Ask whoever sent it for a new one." : refused ? "This token is not accepted." : "");
    $("token").hidden = false;
    document.body.classList.add("locked");
    showState("token", "token needed");
    $("token-text").focus();
    session.tokenAsked = new Promise((resolve) => { session.tokenGiven = resolve; });
  }
  return session.tokenAsked;
}

$("token").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("token-text").value.trim();
  if (!/^[!-~]{1,256}$/.test(text)) {
    setText($("token-fault"), "A token has letters, digits and punctuation, and no spaces.");
    return;
  }
  session.token = text;
  session.link = null; // a token that is typed is no link's
  try { sessionStorage.removeItem(LINK_KEY); } catch { /* it was not kept */ }
  document.body.classList.remove("linked");
  try { sessionStorage.setItem(TOKEN_KEY, text); } catch { /* then the token is kept as long as the page is open */ }
  $("token-text").value = "";
  $("token").hidden = true;
  document.body.classList.remove("locked");
  const {tokenGiven} = session;
  session.tokenAsked = session.tokenGiven = null;
  tokenGiven?.();
});

/** The response of the service. A token goes into a header, never into a URL. If one is needed, this waits for it. */
async function ask(path, headers = {}, signal = undefined, options = {}) {
  for (;;) {
    const token = session.token;
    const sent = token === null ? headers : {...headers, Authorization: `Bearer ${token}`};
    const answer = await fetch(path, {...options, headers: sent, signal, cache: "no-store", credentials: "omit"});
    if (answer.status !== 401) return answer;
    answer.body?.cancel();
    if (token === session.token) await askToken(token !== null);
  }
}

/**
 * A response of any status as {status, ok, data, etag}; `data` is null if it has no JSON.
 * `options`: method, body (an object, sent as JSON), headers, signal, `keepalive`: it outlives the page if it is short. Throws only if the service cannot be reached.
 */
async function askWhole(path, {method = "GET", body = undefined, headers = {}, signal = undefined, keepalive = false} = {}) {
  const limit = AbortSignal.timeout(60_000);
  const sent = body === undefined ? headers : {"Content-Type": "application/json", ...headers};
  const options = body === undefined ? {method} : {method, body: JSON.stringify(body)};
  if (keepalive && options.body.length < KEEPALIVE_CHARS_MAX) options.keepalive = true;
  const answer = await ask(path, sent, signal ? AbortSignal.any([signal, limit]) : limit, options);
  let data = null;
  try { data = await answer.json(); } catch (error) { if (error.name === "AbortError" || error.name === "TimeoutError") throw error; }
  return {status: answer.status, ok: answer.ok, data, etag: answer.headers.get("etag")};
}

/** A JSON response; null for 404. For every other error it throws an Error with the service's line, `status` and `data`. Options as for askWhole. */
async function askJson(path, options = {}) {
  const answer = await askWhole(path, options);
  if (answer.status === 404) return null;
  if (!answer.ok) throw Object.assign(new Error(answer.data?.error ?? `The service answers with status ${answer.status}.`), {status: answer.status, data: answer.data});
  return answer.data;
}

/** The blocks of a stream of Server-Sent Events, as {event, data, id, comment}. Ends with the stream. */
async function* blocks(body, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      alive();
      buffer += value;
      if (buffer.length > BUFFER_CHARS_MAX) throw new Error("an event without an end");
      let from = 0;
      for (let end; (end = buffer.indexOf("\n\n", from)) >= 0; from = end + 2) {
        const block = {event: "message", data: [], id: null, comment: null};
        for (const line of buffer.slice(from, end).split("\n")) {
          const at = line.indexOf(":");
          const name = at < 0 ? line : line.slice(0, at);
          const text = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
          if (name === "data") block.data.push(text);
          else if (name === "event") block.event = text;
          else if (name === "id") block.id = text;
          else if (name === "retry") block.retry = text;
          else if (name === "") block.comment = text;
        }
        yield block;
      }
      buffer = buffer.slice(from);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Follow the service for as long as the page is open. With the id of the last event it continues exactly where it was.
 * `hooks`: event(type, data), note(comment), gap(dropped), reset(reason), state(name, untilMs), filter(): parameters of the stream.
 * It sets `hooks.restart`, which begins again with the filter of then.
 *
 * The stream is read by fetch and not by an EventSource: that needs the name of each event type beforehand (a suite has its own report type),
 * cannot send a header, and hides the heartbeats that distinguish a dead connection from a quiet one.
 */
async function follow(hooks) {
  let last = "", retryMs = 2_000, failures = 0, anew = false;
  let ending = new AbortController(), wake = () => {};
  // Another filter: the events from before are not those that are wanted now.
  hooks.restart = () => {
    anew = true;
    last = "";
    ending.abort();
    wake();
  };
  for (;;) {
    anew = false;
    ending = new AbortController();
    let timer = 0, closing = false, waitMs = 0;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => ending.abort(), QUIET_MS);
    };
    try {
      alive();
      const answer = await ask(`/v1/events?snapshot=200${hooks.filter()}`, last ? {"Last-Event-ID": last} : {}, ending.signal);
      if (!answer.ok || answer.body === null) {
        waitMs = 1000 * Number(answer.headers.get("retry-after") ?? 0);
        throw new Error(`status ${answer.status}`);
      }
      failures = 0;
      hooks.state("live", 0);
      for await (const block of blocks(answer.body, alive)) {
        if (/^[0-9]+$/.test(block.retry ?? "")) retryMs = Number(block.retry);
        if (block.comment !== null) hooks.note(block.comment);
        const data = block.data.length ? parsed(block.data.join("\n")) : null;
        if (data !== null) {
          if (block.event === "touchstone.gap") hooks.gap(data.dropped);
          else if (block.event === "touchstone.reset") hooks.reset(data.reason);
          else if (block.event === "touchstone.closing") closing = true;
          else {
            try { hooks.event(block.event, data); } catch { /* skip it: sent again after a reconnect, it would end the stream every time */ }
          }
        }
        if (block.id) last = block.id; // after the event itself: if the stream breaks in between, the event comes again
        if (closing) hooks.state("closing", 0);
      }
    } catch { /* reported below */ }
    clearTimeout(timer);
    ending.abort();
    if (anew) continue;
    const pauseMs = Math.max(waitMs, Math.min(RETRY_MS_MAX, retryMs * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2));
    failures += 1;
    hooks.state(closing ? "closing" : "reconnecting", Date.now() + pauseMs);
    await Promise.race([pauseOrWake(pauseMs), new Promise((resolve) => { wake = resolve; })]);
    hooks.state(closing ? "closing" : "reconnecting", 0);
  }
}

function parsed(text) {
  try {
    const data = JSON.parse(text);
    return typeof data === "object" ? data : null;
  } catch { return null; }
}

/** Wait until the time is over, the network is back, or the page is shown again. */
function pauseOrWake(ms) {
  return new Promise((resolve) => {
    const woken = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      removeEventListener("online", woken);
      document.removeEventListener("visibilitychange", woken);
      resolve();
    };
    const timer = setTimeout(() => {
      removeEventListener("online", woken);
      document.removeEventListener("visibilitychange", woken);
      resolve();
    }, ms);
    addEventListener("online", woken);
    document.addEventListener("visibilitychange", woken);
  });
}
