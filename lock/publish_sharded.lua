-- Stands before scripts that publish, in a cluster whose servers have SPUBLISH. One
-- that has not been upgraded tells every node.
local function publish(channel, message)
  local heard = redis.pcall('spublish', channel, message)
  if type(heard) == 'table' and heard.err then
    redis.call('publish', channel, message)
  end
end

