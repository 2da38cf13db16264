// Connections to the servers by ioredis, with its own defaults. What a default
// says in seconds is scaled as the scenario is.

import { Cluster, Redis } from "ioredis";

// Resolves to the clients of the first n primaries, connected.
export async function connect(access, scale, n) {
  const clients = [];
  for (let i = 0; i < n; i++) clients.push(client(access, scale, i));
  await Promise.all(clients.map((c) => c.ping()));
  return clients;
}

function client(access, scale, i) {
  const natMap = Object.fromEntries(Object.entries(access.map ?? {}).map(([from, to]) => [from, address(to)]));
  if (access.cluster) {
    return new Cluster(access.primaries.map(address), {
      ...scaled(new Cluster([], { lazyConnect: true }).options, clusterTimes, scale),
      natMap,
      redisOptions: scaled(redisDefaults(), nodeTimes, scale),
    });
  }
  const times = scaled(redisDefaults(), redisTimes, scale);
  if (access.sentinels?.length) {
    return new Redis({ ...times, sentinels: access.sentinels.map(address), name: access.masters[i], natMap });
  }
  return new Redis({ ...times, ...address(access.primaries[i]) });
}

const redisDefaults = () => new Redis({ lazyConnect: true }).options;

// Options in milliseconds, or functions that return some.
const nodeTimes = ["connectTimeout", "disconnectTimeout", "maxLoadingRetryTime"];
const redisTimes = [...nodeTimes, "retryStrategy", "sentinelRetryStrategy"];
const clusterTimes = [
  "clusterRetryStrategy",
  "retryDelayOnMoved",
  "retryDelayOnFailover",
  "retryDelayOnClusterDown",
  "retryDelayOnTryAgain",
  "slotsRefreshTimeout",
];

function scaled(options, names, scale) {
  const times = (x) => (typeof x === "function" ? (...args) => x(...args) * scale : x * scale);
  return Object.fromEntries(names.map((name) => [name, times(options[name])]));
}

function address(text) {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) };
}
