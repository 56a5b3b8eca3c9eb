// The page at /: asks the crawl's own API, and nobody else. What comes from the crawl (URLs, names, errors) is text, never markup.
'use strict';

const at = id => document.getElementById(id);
const grouped = number => Math.round(number).toLocaleString('en');
const percent = part => part === null ? 'none yet' : (part * 100).toFixed(1) + ' %';
let focused = false;
const some = (number, digits = 1) => number >= 100 ? grouped(number) : number.toFixed(digits);

function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return (unit ? count.toFixed(1) : Math.round(count)) + ' ' + units[unit];
}

function span(millis) {
  const seconds = Math.round(Math.abs(millis) / 1000);
  if (seconds < 120) return seconds + ' s';
  if (seconds < 7200) return Math.round(seconds / 60) + ' min';
  if (seconds < 172800) return Math.round(seconds / 3600) + ' h';
  return Math.round(seconds / 86400) + ' days';
}
const ago = (time, now) => time <= now ? span(now - time) + ' ago' : 'in ' + span(time - now);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// ── asking

function headers(more) {
  const token = sessionStorage.getItem('token');
  return token ? { ...more, Authorization: 'Bearer ' + token } : more;
}

async function ask(path, options = {}) {
  const response = await fetch('api/v1' + path, { ...options, headers: headers(options.headers || {}) });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ detail: 'status ' + response.status }));
  const error = new Error(problem.detail);
  error.status = response.status;
  throw error;
}
const read = async path => (await ask(path)).json();

function trouble(error) {
  if (error.status === 401) at('token-form').hidden = false;
  at('problem').textContent = error.status ? error.message : 'The crawl does not answer.';
  at('problem').hidden = false;
}

function well() {
  at('problem').hidden = true;
  at('token-form').hidden = true;
}

// ── showing

function figures(list, pairs) {
  list.replaceChildren(...pairs.map(([name, value, className]) => {
    const group = element('div');
    group.append(element('dt', name), element('dd', value, className));
    return group;
  }));
}

// A row: its cells as text, or [text, class].
function rows(table, all) {
  const cells = row => row.map(cell => Array.isArray(cell) ? element('td', cell[0], cell[1]) : element('td', cell));
  at(table).tBodies[0].replaceChildren(...all.map(row => {
    const made = element('tr');
    made.append(...cells(row));
    return made;
  }));
}

function show(status) {
  const live = status.running, counts = status.frontier;
  focused = Boolean(live.harvest);
  document.title = 'Seine: ' + live.phase;
  at('version').textContent = 'Seine ' + status.version + ', ' + status.folder;
  const started = live.phase + ', started ' + ago(live.started_ms, status.now_ms);
  at('phase').textContent = live.notice && !live.notice.startsWith('paused') ? started + ': ' + live.notice : started;
  const pause = at('pause');
  pause.hidden = false;
  pause.dataset.order = status.is_paused ? 'resume' : 'pause';
  pause.textContent = status.is_paused ? 'Resume the crawl' : 'Pause the crawl';
  const rate = live.rates[0] || { pages: 0, failures: 0, bytes: 0 };
  figures(at('now'), [
    ['pages a second', some(rate.pages)],
    ['failures a second', some(rate.failures), rate.failures > rate.pages ? 'bad' : ''],
    ['received a second', bytes(rate.bytes)],
    ['live pages', grouped(counts.live)],
    ['URLs queued', grouped(counts.work_proposed)],
    ['hosts with queued URLs', grouped(counts.hosts_with_work)],
    ['hosts being visited', grouped(counts.hosts_leased)],
    ['gone, refused, failed', [counts.gone, counts.refused, counts.failed].map(grouped).join(', ')],
    ...live.harvest ? [['harvest rate, latest pages and all', [live.harvest.last, live.harvest.life].map(percent).join(', ')]] : [],
  ]);
  rows('sinks', status.sinks.map(sink => {
    const state = sink.error ? [sink.error, 'bad wide'] : sink.is_paused ? 'paused' : sink.in_use ? ['well', 'good'] : 'not configured';
    const number = count => [grouped(count), 'number'];
    return [sink.name, number(sink.delivered), number(sink.pending), number(sink.dead_lettered), state];
  }));
  const log = status.log, full = log.is_full ? ' It is full, so fetching waits for the sinks.' : '';
  at('log').textContent = 'The page log holds ' + bytes(log.bytes) + ' of ' + bytes(log.limit_bytes) + ' for them.' + full;
  at('log').className = log.is_full ? 'bad' : 'quiet';
  const stuck = live.parts.filter(part => part.is_stuck || part.phase === 'backing_off');
  rows('attempts', live.outcomes.map(one => [one.outcome, [grouped(one.count), 'number']])
    .concat(stuck.map(part => [[part.name + ': ' + (part.last_error || 'no progress'), 'bad wide'], [part.restarts + ' restarts', 'number']])));
}

// One line over time. Points: [milliseconds, value].
function chart(title, points, shown) {
  const figure = element('figure'), caption = element('figcaption');
  const top = Math.max(...points.map(([, value]) => value), 0);
  const last = points.length ? points[points.length - 1][1] : 0;
  caption.append(title + ': ', element('strong', shown(last)), ' now, maximum ' + shown(top));
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 100 40');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', title + ': ' + shown(last) + ' now, maximum ' + shown(top) + ' over ' +
    (points.length > 1 ? span(last && points[points.length - 1][0] - points[0][0]) : 'no time yet'));
  if (points.length > 1) {
    const from = points[0][0], width = points[points.length - 1][0] - from || 1;
    const line = points.map(([time, value]) =>
      ((time - from) / width * 100).toFixed(2) + ',' + (39 - (top ? value / top * 37 : 0)).toFixed(2));
    for (const [data, className] of [['M0,40L' + line.join('L') + 'L100,40Z', 'area'], ['M' + line.join('L'), '']]) {
      const path = document.createElementNS(svg.namespaceURI, 'path');
      path.setAttribute('d', data);
      if (className) path.setAttribute('class', className);
      svg.append(path);
    }
  }
  figure.append(svg, caption);
  return figure;
}

function showHistory(samples) {
  const of = value => samples.map(sample => [sample.at_ms, value(sample)]);
  const sinks = [...new Set(samples.flatMap(sample => sample.pending.map(pending => pending.sink)))];
  const lag = sink => of(sample => (sample.pending.find(pending => pending.sink === sink) || { events: 0 }).events);
  at('charts').replaceChildren(
    chart('pages a second', of(sample => sample.rate.pages), some),
    chart('failures a second', of(sample => sample.rate.failures), some),
    chart('received a second', of(sample => sample.rate.bytes), bytes),
    ...focused ? [chart('relevant pages', of(sample => sample.rate.harvest || 0), percent)] : [],
    ...sinks.map(sink => chart('behind: ' + sink, lag(sink), grouped)),
  );
}

function showHosts(hosts, now) {
  at('hosts-count').textContent = grouped(hosts.with_work) + ' of ' + grouped(hosts.known) + ' known hosts have queued URLs, ' +
    grouped(hosts.blocked) + ' are blocked';
  rows('hosts', hosts.hosts.map(host => {
    const why = [];
    if (host.trouble) why.push(host.trouble.cause + ' since ' + ago(host.trouble.since_ms, now));
    if (host.ordered_delay_ms !== null) why.push(host.ordered_delay_ms + ' ms delay, by order');
    if (host.due_ms !== null && host.due_ms > now) why.push('due ' + ago(host.due_ms, now));
    const state = ['troubled', 'given_up'].includes(host.state) ? [host.state, 'bad'] : host.state;
    return [[host.host, 'wide'], state, [grouped(host.urls), 'number'], why.join('; ')];
  }));
}

function showWhy(why) {
  const now = Date.now(), list = element('dl');
  const add = (name, text) => { if (text) list.append(element('dt', name), element('dd', text)); };
  const robots = why.robots.verdict + (why.robots.line ? ' by ' + JSON.stringify(why.robots.line) +
    (why.robots.line_number ? ', line ' + why.robots.line_number : '') : '');
  add('scope', why.scope.rule || 'admitted');
  add('robots.txt', robots);
  if (why.host) add('host', why.host.state + (why.host.trouble ? ', ' + why.host.trouble.cause : ''));
  if (why.queue) {
    add('queue', [why.queue.ahead !== null ? why.queue.ahead + ' URLs come first' : '', why.queue.due_ms ? 'due ' + ago(why.queue.due_ms, now) : '',
      why.queue.attempts + ' attempts so far'].filter(Boolean).join(', '));
  }
  if (why.queue && why.queue.rank) {
    add('rank', why.queue.rank.rank.toFixed(3) + ': ' + why.queue.rank.reasons.map(it => it.of + ' ' + it.adds.toFixed(2)).join(', '));
  }
  if (why.page) {
    add('last fetch', ago(why.page.fetched_ms, now) + ', status ' + why.page.status);
    add('redirects to', why.page.final_url);
    add('digest', why.page.digest);
  }
  for (const [name, found] of [['found', why.found.first], ['last link', why.found.last]]) {
    if (found) add(name, found.way + (found.on ? ' ' + found.on : '') + ', ' + ago(found.at_ms, now));
  }
  add('attempts', why.attempts.last.map(it => ago(it.at_ms, now) + ': ' + it.outcome).join('; '));
  add('aliases', why.aliases.join(' '));
  add('duplicates', why.duplicates.join(' '));
  for (const sink of why.sinks) add(sink.sink, sink.state + (sink.reason ? ': ' + sink.reason : ''));
  const answer = element('p');
  answer.append(element('strong', why.state), ': ' + why.reason);
  at('why').replaceChildren(element('p', why.url, 'quiet'), answer, list);
}

// ── going on

async function follow() {
  for (;;) {
    try {
      const response = await ask('/events');
      well();
      slow();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        const events = text.split('\n\n');
        text = events.pop();
        for (const event of events) {
          const data = event.split('\n').find(line => line.startsWith('data: '));
          if (data) show(JSON.parse(data.slice(6)));
        }
      }
      trouble(new Error('it has ended'));
    } catch (error) {
      trouble(error);
      if (error.status === 401) return; // until there is a token
    }
    await new Promise(again => setTimeout(again, 3000));
  }
}

// What need not be looked at every two seconds.
async function slow() {
  try {
    const [history, hosts, orders] =
      await Promise.all([read('/history'), read('/hosts?limit=50&which=' + at('which').value), read('/orders')]);
    const now = Date.now();
    showHistory(history);
    showHosts(hosts, now);
    rows('orders', orders.map(order => [ago(order.at_ms, now), order.by, [order.done, 'wide']]));
  } catch (error) {
    trouble(error);
  }
}

at('why-form').addEventListener('submit', event => {
  event.preventDefault();
  read('/url?url=' + encodeURIComponent(at('url').value)).then(showWhy)
    .catch(error => at('why').replaceChildren(element('p', error.message, 'bad')));
});
at('pause').addEventListener('click', async () => {
  const order = { order: at('pause').dataset.order };
  try {
    await ask('/orders', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(order) });
    show(await read('/status'));
    slow();
  } catch (error) {
    trouble(error);
  }
});
at('which').addEventListener('change', slow);
at('token-form').addEventListener('submit', event => {
  event.preventDefault();
  sessionStorage.setItem('token', at('token').value.trim());
  at('token').value = '';
  follow();
});
follow();
setInterval(slow, 10000);
