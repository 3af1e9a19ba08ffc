// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers, by the names that the generated service structs ask for. A method without
 * its handler fails at link.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"

struct process_figures;
struct rpc_context;

void rpc_query_hello(Ingero__V1__Query_Service *service, const Ingero__V1__HelloRequest *request,
		     Ingero__V1__HelloReply_Closure closure, void *closure_data);
void rpc_query_status(Ingero__V1__Query_Service *service, const Ingero__V1__StatusRequest *request,
		      Ingero__V1__StatusReply_Closure closure, void *closure_data);
void rpc_query_operations(Ingero__V1__Query_Service *service, const Ingero__V1__OperationsRequest *request,
			  Ingero__V1__Summary_Closure closure, void *closure_data);
void rpc_trace_trace(Ingero__V1__Trace_Service *service, const Ingero__V1__TraceRequest *request,
		     Ingero__V1__TraceReply_Closure closure, void *closure_data);
void rpc_query_explain(Ingero__V1__Query_Service *service, const Ingero__V1__ExplainRequest *request,
		       Ingero__V1__ExplainReply_Closure closure, void *closure_data);
void rpc_query_events(Ingero__V1__Query_Service *service, const Ingero__V1__EventsRequest *request,
		      Ingero__V1__EventsReply_Closure closure, void *closure_data);
void rpc_query_sql(Ingero__V1__Query_Service *service, const Ingero__V1__SqlRequest *request,
		   Ingero__V1__SqlReply_Closure closure, void *closure_data);
void rpc_query_export_rows(Ingero__V1__Query_Service *service, const Ingero__V1__ExportRequest *request,
			   Ingero__V1__ExportReply_Closure closure, void *closure_data);

/** rpc_operations_forget() - the figures of a process that ended go: answers that wait for their reader lack it */
void rpc_operations_forget(struct rpc_context *context, const struct process_figures *process);
