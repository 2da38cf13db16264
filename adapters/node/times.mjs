// The locks of Node take whole milliseconds only.
export const milliseconds = (ns) => Math.max(1, Math.round(ns / 1e6));
