-- Stands before scripts that publish, in a cluster. Servers have SPUBLISH from version
-- 7.0 on; the others tell every node.
local function publish(channel, message)
  local heard = redis.pcall('spublish', channel, message)
  if type(heard) == 'table' and heard.err then
    redis.call('publish', channel, message)
  end
end

