-- publish tells the waiters in a cluster whose servers have SPUBLISH. A server that has
-- not been upgraded tells every node.
local function publish(channel, message)
  local heard = redis.pcall('spublish', channel, message)
  if type(heard) == 'table' and heard.err then
    redis.pcall('publish', channel, message)
  end
end

