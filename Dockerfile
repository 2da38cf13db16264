# The image of a release: goreleaser puts the program for each platform
# beside this file.
# To build an image from a checkout, see examples/many-machines/Dockerfile.
#
# It has a shell, which the shards of an exploration on Kubernetes use, and
# redis-server, which `holdfast run --world live` starts.
FROM alpine:3
RUN apk add --no-cache redis
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/holdfast /usr/local/bin/holdfast
USER 65532:65532
WORKDIR /results
ENTRYPOINT ["holdfast"]
